// SPDX-License-Identifier: Apache-2.0

// Package apptest has what tests of several rooms of app need: an App on an empty state, sites that change
// from version to version, and runs that mirror them.
package apptest
