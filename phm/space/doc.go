// SPDX-License-Identifier: Apache-2.0

// Package space keeps spaces: sets of mirrors in which links from one mirror to a URL that another one
// holds lead to that copy.
//
// A space is a folder beside the mirrors, made of their published trees. Each mirror is in a folder of
// it (MirrorFolder): its files are hard links to the published ones, but for pages with links that lead
// to another mirror, which are written once more with these links changed. Nothing of a mirror is
// touched: its trees, versions, exports and digests are what they are without the space, and a space can
// be made again at any time.
//
// Update updates a space. It opens a mirror only when that has a new version; the pages of all other
// mirrors are made from the space's files, so it waits for no locked mirror, and writes to none. Two
// indexes, held and links, say which mirror holds a URL and which pages link to one.
//
// A reader of a space never finds a link to a missing file: new files are there before the pages that
// link to them, and old files are removed after the pages that linked to them. The targets of a page
// that cannot be made again stay. A kill at any moment leaves a space of which that is true; the file
// todo says what the next Update has to do again.
//
//	spaces/NAME/
//	  lock          held during an update of the space
//	  again         updates requested meanwhile, and for which mirrors
//	  todo          work to repeat after a kill
//	  left          mirrors that could not be updated, with the reason
//	  all           mirrors of jobs that name no space belong to this one
//	  seed          of the hashes in the indexes
//	  files/        the files to open or serve: index.html, and a folder for each mirror
//	  mirrors/      records of each mirror: NAME.json, .files (its phm.files), .held, .links, .pages
//	  pages/NAME/   by digest: pages as published of which the space has others, and these
package space
