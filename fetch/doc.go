// SPDX-License-Identifier: Apache-2.0

// Package fetch makes one polite HTTP exchange, and keeps the rules that make it polite.
//
// A [Client] performs single exchanges for one run of one job: it negotiates and removes content codings,
// detects bodies that were cut short, resumes large ones, retries transient errors, and refuses addresses
// that a mirror has no business with. Redirects are never followed: the target is a URL of its own, to be
// admitted by scope, robots and the address guard like any other (robots.txt, which RFC 9309 §2.3.1.2 lets a
// crawler follow for five hops, is the only exception).
//
// [Hosts] holds the politeness of all jobs of a process: how many connections a host may see and when it may
// get the next request. [RobotsCache] fetches, keeps and hands out robots.txt rules.
//
// Guarantees:
//   - a body is reported as good only when its framing (Content-Length, last chunk, END_STREAM) and its
//     content coding (gzip and zlib checksums, the last block of deflate, br and zstd) both came to their
//     proper end. The one framing without an end, a body that lasts until the connection closes, is marked
//     [Result.Unframed];
//   - memory for an exchange does not depend on the body: fixed buffers, capped header, capped decoder
//     windows;
//   - every limit that bites is an error of its own class, see [Error].
//
// Sources: RFC 9110 (HTTP semantics), RFC 9112 (HTTP/1.1), RFC 9113 (HTTP/2), RFC 9309 (robots), RFC 8878 and
// 9659 (zstd and its window), RFC 7932 (br), RFC 6890 and the IANA special-purpose registries (addresses).
package fetch
