// SPDX-License-Identifier: Apache-2.0

// Package find is the full-text index of what mirrors say: the pages of all mirrors, in all versions that are
// kept.
//
// The index is one SQLite database in a folder of its own. All of it is made from the mirrors: the folder can
// be deleted at any time, and a file that is damaged, or of another format, is made again. Open makes
// missing files; OpenToRead changes nothing, needs no right to write, and disturbs no other process.
//
// A text is what a page says from one version to another. Its row in table text has the URL, the first and
// the last version, and the page's links as hashes; table said has what it says, compressed, for excerpts and
// ranking; the FTS5 table words has its words and no copy of the text, titles those of its title alone.
//
// Words are folded before SQLite sees them (see fold): case, accents and other forms of one letter do not
// count. Where a script does not part words by blanks (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese)
// each three characters in a row are a word, so that any three characters of a text are found; two are found
// as the beginning of such a word, and single ones by the list of the characters of a page.
package find
