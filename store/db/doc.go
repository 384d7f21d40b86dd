// SPDX-License-Identifier: Apache-2.0

// Package db is the room of package store for its databases: that of a site, which follows a log, and that of
// a state. It is the one door to bbolt. It checks pages before bbolt reads them, gives each value a checksum
// and each bucket a tally, has readers beside a writer, and makes a database again from its log. In the log
// is the journal too: batches of an unfinished run that are not in the database yet. Of a site it knows its
// name and a few small facts, and no record.
package db
