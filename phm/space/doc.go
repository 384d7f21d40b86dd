// SPDX-License-Identifier: Apache-2.0

// Package space keeps spaces: sets of mirrors in which links from one mirror to a URL that another one
// holds lead to that copy.
//
// A space is a folder beside the mirrors, made of their published trees. Each mirror lies in a folder of
// it (MirrorFolder): its files are hard links to the published ones, but for pages with links that lead
// to another mirror, which are written once more with these links changed. Nothing of a mirror is
// touched: its trees, versions, exports and digests are what they are without the space, and a space can
// be made again at any time.
//
// Update brings a space up to date. It needs a mirror itself only when that has a new version; the pages
// of all other mirrors are made of what the space has, so nobody waits for a mirror that is locked, and
// none is written. Two indexes, held and links, say which mirror holds a URL and which pages link to one.
//
// Whoever reads a space never finds a link to a file that is not there: files that come are there before
// the pages that lead to them, and files that leave go after the pages that led to them. What a page
// leads to that cannot be made again stays. A kill at any moment leaves a space of which that is true;
// the file todo says what the next Update has to do again.
//
//	spaces/NAME/
//	  lock          held while the space is brought up to date
//	  again         somebody else wanted that meanwhile, and for which mirrors
//	  todo          what a kill leaves to be done again
//	  left          mirrors that could not be brought up to date, with the reason
//	  all           mirrors of jobs that name no space belong to this one
//	  seed          of the hashes in the indexes
//	  files/        what is opened or served: index.html, and a folder for each mirror
//	  mirrors/      what is known of each mirror: NAME.json, .files (its phm.files), .held, .links, .pages
//	  pages/NAME/   by digest: pages as published of which the space has others, and these
package space
