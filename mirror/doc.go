// SPDX-License-Identifier: Apache-2.0

// Package mirror is one run of one job, and the conductor of its two phases.
//
//	session    what the phases share: options, the version that the run works for, what it knows of URLs
//	retrieve   phase one: everything that is requested of the site; exchange is what happens to one URL
//	closing    phase two: the verdict, the records, the next version of the mirror
//
// The phases do not know one another: run.go carries what phase one came to, a value, to phase two. api.go is
// what the layers above use of the rooms.
//
// What happens to one URL is an outcome, recorded as data; only what ends the run is an error.
package mirror
