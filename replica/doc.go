// Package replica finds who replicates whom: pages that read alike, hosts that mirror one another, and collections of pages that lie in
// several places. It decides; it fetches, stores and logs nothing, and the same input gives the same result.
//
//   - Text: what a page says. [Text] decodes and de-tags, [Tokens] and [Lines] cut it up, [Shingles] are its k-grams, [Chunks] its
//     fingerprints by lines. [Resemblance] compares two sets.
//   - Sketch: 128 bytes that stand for a page's shingles. A [Sketcher] makes one of a page's bytes in one pass. [Group] finds all pages
//     that resemble one another: banded candidates, each verified, joined by union-find.
//   - Hosts: an [Inventory] of addresses gives candidate pairs from these alone (stage I); [Plan], [Asks] and [StageTwo] say what to get of a pair
//     and what the answers mean: a [Level] (stage II). Who gets them is the caller's affair.
//   - Collections: [Find] finds the directories that hold the same pages, by votes of pages that resemble one another; a [Finder] does so with
//     bounded memory and the caller's files. [TrivialClusters] and [Grow] are the method of Cho, Shivakumar and Garcia-Molina, along links.
//   - [Seen] says of one page after the other whether it was seen before. [ReadURLs] reads lists of addresses. [Plot] and [PlotCluster] draw.
//
// Hashes are the fast ones of this package, which may change with it ([DigestForm] says when digests did); H is that of the golden mode, and of what is sampled.
//
// Sources: Broder, On the resemblance and containment of documents (1997); Manning, Raghavan, Schütze, Introduction to Information
// Retrieval, the chapter on crawling (shingles, sketches, union-find); Li, Owen, Zhang, One permutation hashing (2012), with the optimal
// densification of Shrivastava (2017); Bharat, Broder, Mirror, Mirror on the Web (1999); Cho, Shivakumar, Garcia-Molina, Finding
// replicated web collections (SIGMOD 2000).
package replica
