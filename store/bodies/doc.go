// SPDX-License-Identifier: Apache-2.0

// Package bodies is the room of package store for the documents of a site and the heads of answers: packs of
// frames, each a document, a bundle of many, a delta over another one, or the rest of a published file. It
// knows where a document lies and what its bytes are; which records refer to it, and what a transaction notes
// of it, is the business of package store.
package bodies
