// SPDX-License-Identifier: Apache-2.0

// Package serving makes the served content: the mirrors of a state under their hosts, a gateway that puts the
// mirrors of several machines under one name, and archive files.
package serving
