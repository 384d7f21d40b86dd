// SPDX-License-Identifier: Apache-2.0

// Package wholetest has what tests of several rooms of app need of the rooms above package runs.
package wholetest
