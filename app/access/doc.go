// SPDX-License-Identifier: Apache-2.0

// Package access decides who may do what in the daemon's web interface and its API: roles, tokens of
// programs, users with passwords, and how many attempts a client has.
//
// What it knows lies behind Facts, which a state keeps in mirror.db. Commands change them there while a
// daemon runs; a Book sees the changes within a second.
//
// Tokens and sessions have 256 random bits and are stored as SHA-256 digests: nothing can be guessed from
// these, and a slow hash would only slow the daemon down. Passwords are made by people, and are stored as
// argon2id hashes.
package access
