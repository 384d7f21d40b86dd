// SPDX-License-Identifier: Apache-2.0

// Package mirror has the commands that look into a mirror, verify, repair and thin it, and get, which makes
// one
// without a job.
package mirror
