// SPDX-License-Identifier: Apache-2.0

// Package store owns everything that mirrord keeps on disk. It is the only writer of the state directory.
//
//	STATE/
//	  mirror.db                 bbolt: run log and host facts of all sites; opened only for the moment of a
//	                            read or write
//	  blobs/ab/abcd…            bodies that are published as they came, by SHA-256, hard-linked into the trees
//	                            of all sites
//	  blobs/tmp/                bodies on their way in; emptied when a site is opened for writing and no
//	                            other process runs
//	  sites/NAME/log/N.log      the truth about a site: a checkpoint, and an entry for each transaction
//	  sites/NAME/site.db        bbolt, an index that follows the log: resources, links, run journal, history,
//	                            versions
//	  sites/NAME/packs/N.pack   raw bodies of relocatable documents with their links, append-only,
//	                            self-describing;
//	                            one that changes a little as a delta over an older frame (delta.go)
//	  sites/NAME/parts/         beginnings of large bodies that have not come whole (part.go)
//	  sites/NAME/trees/N        PHM directories, by version (treenext.go); the next publish updates one of them
//	  sites/NAME/versions/N     symbolic links to them
//	  sites/NAME/glance.json    what lists show of site.db, and of which commit it is
//	  sites/NAME/lastrun.json   the last run, and the record of the job (job.json): what mirror.db is made of
//	                            again when it is damaged
//	  sites/NAME/damaged.urls   the URLs whose bodies Verify found damaged, for the next run
//	  sites/NAME/damaged        what Rebuild took out of use; nothing reads it
//	  sites/NAME/current        symbolic link to the live one; moved by one rename
//
// Guarantees:
//   - What Records.Commit has returned for survives kill -9, and loss of power too unless Options.Volatile is
//     set: bodies are synced before the entry of the log that refers to them, and that before Commit returns.
//   - current always names a finished tree. A crash while a tree is built leaves a mark, and the next build
//     starts it again.
//   - A site folder plus the blobs is all the state of a site. One process writes a site at a time (ErrLocked
//     otherwise).
//   - No path that came from the network is used outside an os.Root.
//
// Site.Verify checks all of it; State.Rebuild restores a site whose database cannot be read.
//
// The format has a version number (FormatVersion). Formats 7 to 9 are converted by the first opening for
// writing, older and newer ones are refused.
package store
