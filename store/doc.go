// SPDX-License-Identifier: Apache-2.0

// Package store owns everything that mirrord keeps on disk. It is the only writer of the state
// directory. This page names each file, each format byte by byte, and what holds when a process or a
// machine dies.
//
// # Files
//
//	STATE/
//	  mirror.db             database of what all sites share: runs, hosts, jobs, users, tokens, orders
//	  public-names          host names that were ever at public addresses; lines that are appended
//	  blobs/ab/abcd…        bodies that are published as they came, by SHA-256, hard-linked into the trees
//	  blobs/tmp/            bodies on their way in
//	  sites/NAME/           a site:
//	    log/N.log           the truth about the site: a checkpoint, an entry for each transaction, and
//	                        one for each batch of an unfinished run
//	    site.db             database that follows the log: an index, which is made again from there
//	    site.lock           empty; the writer of the site holds its lock
//	    packs/N.pack        documents with their links, in frames that are appended
//	    heads.N             heads of answers, in frames that are appended
//	    parts/              beginnings of large bodies that have not come whole
//	    trees/N             the published files of version N, a PHM directory; trees/next is being built
//	    versions/N          symbolic links to the trees
//	    current             symbolic link to the published tree; one rename moves it
//	    texts, digests      what each page says; both can be deleted
//	    fingerprints        which files the site has, for the runs of other sites
//	    away.json           what a check-out has left in a depot
//	    fact.*, lastrun.json, job.json, scrub.json, redone.json, glance.json
//	                        small facts as JSON, some of which outlive the database
//	    damaged.urls, damaged.files
//	                        lines: what Verify found damaged, for the next run
//	    damaged/            what Rebuild took out of use; no program reads it
//
// # What holds
//
//   - What Records.Commit has returned for survives kill -9, and loss of power too unless
//     Options.Volatile is set: bodies are synced before the entry of the log that refers to them, and
//     that before Commit returns.
//   - current always names a finished tree. A crash while a tree is built leaves a mark, and the next
//     build starts it again.
//   - A site folder plus the blobs is all the state of a site. One process writes a site at a time
//     (ErrLocked otherwise).
//   - No path that came from the network is used outside an os.Root.
//   - What a disk changes or loses is found: each value, entry and frame has a checksum. Site.Verify
//     checks all of it, and State.Rebuild restores a site whose database and log cannot be read.
//
// # Formats
//
// There are 16 that are written, and 6 of older versions that are read. A uvarint is that of
// encoding/binary, a string or "bytes" is a uvarint length and so many bytes. Checksums are CRC-32C, 4
// bytes. Numbers of a fixed length are little endian, but for those in databases, which are big endian.
// FormatVersion numbers the whole.
//
// The frame is the same in packs and in files of heads. It does not count unless a record refers to it:
//
//	magic 4 bytes "mP", kind, version; length 4 bytes; checksum 4 bytes; payload of that length
//
//	 1  document       mPk1 in zstd, mPq1 in S2, mPr1 as it is: head, links, body       bodies
//	                   head: bytes; uvarint number of the URL, 8 bytes of the digest    bodies
//	                   links: bytes; spans, kinds and targets                           mirror/render/links.go
//	 2  bundle         mPb1: 4 bytes count, uvarint length of each document, all
//	                   documents in zstd. Place.Doc is the number of one, from 1        bodies
//	                   in files of heads, a document is 4 bytes checksum of the URL,
//	                   a byte, strings status line, names and values                    bodies
//	 3  delta          mPd2, mPd3: the base, a full frame: pack 4 bytes, offset 8, length
//	                   4, in mPd3 its document 4, checksum of its payload 4, depth 1,
//	                   which is 1; a document in zstd with that payload as dictionary   bodies
//	 4  rest           mPo2 in S2: string path; 32 bytes digest; head and links, as in a
//	                   document; uvarint count of replacements; each: uvarint start in
//	                   the file less the end before, uvarint length there, string of
//	                   the document                                                     bodies
//
// A log is a file of entries, which begins with a checkpoint:
//
//	5  entry          magic "mRd1", kind 1 byte, 3 zeros, length 4 bytes, number of
//	                  the transaction 8, checksum of the entry before, checksum,
//	                  changes in zstd: byte p, d, s or T; bytes bucket, key, value    log
//	6  batch          of an unfinished run, an entry by itself, in zstd: number of the
//	                  last pack 4 bytes, its length 8, big endian; uvarint number of
//	                  the first new URL; uvarint count of these, each: string, uvarint
//	                  referrer, uvarint depth<<1 | requisite; uvarint count of results,
//	                  each: string URL, bytes record, bytes targets; bytes: the heads in
//	                  zstd, bytes for each result, 0 for none; looks. Heads and looks
//	                  are absent where there are none                                  record
//
// The values of a database:
//
//	 7  value          any value below, and a checksum of bucket, key and value; of a
//	                   bucket the count of its values, the sum of 128 bits of their
//	                   hashes, its sequence: 8, 16 and 8 bytes, little endian           db/sealed.go
//	 8  record         of a URL: byte 1, flags, outcome, kind of body, format of the
//	                   body; 11 uvarints; strings; what the flags name; of a body the
//	                   digest 32, uvarints, strings, place                              record
//	 9  targets        of a document: uvarint differences of sorted numbers             record
//	10  look           uvarint run, uvarint time, numbers of URLs                       record
//	                   numbers: uvarint count; each: uvarint gap<<1 | more, uvarint
//	                   length of the run of numbers less one                            record
//	11  observation    of a run: byte version, byte flags, uvarint time and version,
//	                   sets of numbers                                                  record
//	12  edit script    of a version, in zstd: lines "+", "-" or "~" and a line of the
//	                   file table                                                       record
//	13  note           JSON (version, run, publish, tree, shared fact), a number, or a
//	                   text, by the name of its key                                     record, trees, shared
//
// Beside them:
//
//	14  page entries   texts "mTx1" 32 bytes, digests "mDg2" 160: head of 16 bytes, then
//	                   number 4, sum of the body 8, what it says, checksum              pages
//	15  fingerprints   magic, time 8 bytes, last number 4, count 4, sorted numbers of 4
//	                   bytes, checksum                                                  mirror/source
//	16  files of text  JSON (a note of a part, away.json, glance.json and others) and
//	                   lines (damaged.urls, damaged.files, public-names, fact.*)        blobs, away
//
// Published trees are PHM, see docs/phm.md, and no format of this package.
//
// Older versions wrote these, which are read and not written: deltas over deltas, heads as JSON in
// frames, rests mPo1, heads as differences "mHd" (all in bodies, and
// fetch/heads/older.go), batches as values of the database (Records.TakeJournal), and databases of
// formats 7 to 10, which the first opening for writing converts (db/convert.go). Older and newer
// databases are refused.
package store
