// SPDX-License-Identifier: Apache-2.0

// Package serve serves mirrors over HTTP, for reading only.
//
// A Server has two ways in. By host, each mirror is an origin of its own (NAME.BASE, or a listener of its own
// by Server.Site): original paths and queries work there. By path, a mirror lies below /NAME/ on the base
// host, and every answer is sandboxed into an opaque origin, so that no mirrored page can script another
// mirror or a page of ours. Nothing sets or reads a cookie.
//
// Published documents are relocated: their links are relative references between mirror paths. So every file
// has one place where its links are right, the address that its mirror path makes below the primary origin. A
// document is served at its original URL when that is in the same directory as its place, which is the
// ordinary case, and redirected to its place otherwise. An address can be the URL of one file and the place
// of another; then a request that comes from a page of the mirror means the place, any other the URL.
//
// Versions are reached by datetime negotiation: Memento, RFC 7089, pattern 2.1 (the TimeGate is not the
// original resource, answers 302, and each Memento has a URI of its own). The addresses are in memento.go.
//
// What a Server reads comes through the interfaces of content.go; NewStore implements them over a state
// directory.
package serve
