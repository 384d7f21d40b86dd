// SPDX-License-Identifier: Apache-2.0

package find

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"modernc.org/sqlite"
)

// Folder and fileName are where the index lies below the state.
const (
	Folder   = "find"
	fileName = "index.db"
)

// format is the number of the form of the index. A file of another one is made again.
const format = 3

// Errors of opening an index.
var (
	ErrNoIndex = errors.New("there is no index of texts yet")
	ErrDamaged = errors.New("the index of texts is damaged, or of another version")
)

// Index is an open index. It is safe for concurrent use; one process changes it at a time.
type Index struct {
	db    *sql.DB
	path  string
	pack  *zstd.Encoder
	plain *zstd.Decoder
}

// schema makes the tables. Row numbers of text, said, terms, words and titles are the same. terms has each
// word of a row once, without places and with beginnings, so that a common word, one that pages must not
// have and all words with a beginning cost little; words has what needs places: phrases, and trigrams.
const schema = `
CREATE TABLE job(
	id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version INT NOT NULL, at INT NOT NULL, pages INT NOT NULL);
CREATE TABLE version(
	job INT NOT NULL, number INT NOT NULL, at INT NOT NULL, PRIMARY KEY(job, number)) WITHOUT ROWID;
CREATE TABLE text(
	id INTEGER PRIMARY KEY, job INT NOT NULL, key INT NOT NULL,
	url TEXT NOT NULL, path TEXT NOT NULL, title TEXT NOT NULL,
	first INT NOT NULL, last INT NOT NULL, body INT NOT NULL, same INT NOT NULL, named INT NOT NULL DEFAULT 0);
CREATE INDEX text_key ON text(job, key);
CREATE TABLE said(id INTEGER PRIMARY KEY, text BLOB NOT NULL, links BLOB NOT NULL);
CREATE VIRTUAL TABLE terms USING fts5(
	word, content='', contentless_delete=1, detail=none, prefix='3 4',
	tokenize='ascii');
CREATE VIRTUAL TABLE words USING fts5(
	tags, title, body, single, content='', contentless_delete=1,
	tokenize='ascii');
CREATE VIRTUAL TABLE titles USING fts5(
	tags, title, content='', contentless_delete=1,
	tokenize='ascii');
INSERT INTO words(words, rank) VALUES('hashsize', 8388608);
INSERT INTO terms(terms, rank) VALUES('hashsize', 8388608);
`

// Open opens the index below a state to change it, and makes it if it does not exist. One that is damaged is
// ErrDamaged: Remove it, and open it again.
func Open(state string) (*Index, error) {
	dir := filepath.Join(state, Folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return open(filepath.Join(dir, fileName), "rwc")
}

// OpenToRead opens the index below a state to search it; ErrNoIndex if it does not exist.
func OpenToRead(state string) (*Index, error) {
	path := filepath.Join(state, Folder, fileName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoIndex
	} else if err != nil {
		return nil, err
	}
	return open(path, "ro")
}

// Wanted reports whether an index of this state is wanted: its folder is there.
func Wanted(state string) bool {
	fi, err := os.Stat(filepath.Join(state, Folder))
	return err == nil && fi.IsDir()
}

// Remove deletes the file of the index. It is made again as long as the folder is there. Readers that have
// it open read the old one.
func Remove(state string) error {
	for _, end := range [...]string{"", "-journal"} {
		err := os.Remove(filepath.Join(state, Folder, fileName+end))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Forget deletes the index and its folder: it is no longer wanted.
func Forget(state string) error { return os.RemoveAll(filepath.Join(state, Folder)) }

func open(path, mode string) (_ *Index, err error) {
	// A rollback journal, so that readers need no right to write, and one file is all there is. What a loss of
	// power damages is made again.
	params := url.Values{"mode": {mode}, "_txlock": {"immediate"}, "_pragma": {
		"busy_timeout(10000)", "journal_mode(truncate)", "synchronous(normal)", "cache_size(-16000)",
		"secure_delete(on)",
	}}
	if mode == "ro" {
		params["_pragma"] = []string{"busy_timeout(10000)", "query_only(on)", "cache_size(-8000)"}
	}
	db, err := sql.Open("sqlite", (&url.URL{
		Scheme:   "file",
		Opaque:   (&url.URL{Path: path}).EscapedPath(),
		RawQuery: params.Encode(),
	}).String())
	if err != nil {
		return nil, err
	}
	x := &Index{db: db, path: path}
	defer func() {
		if err != nil {
			err = errors.Join(err, x.Close())
		}
	}()
	if mode != "ro" {
		db.SetMaxOpenConns(1)
	}
	if x.pack, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderLevel(zstd.SpeedFastest)); err != nil {
		return nil, err
	}
	if x.plain, err = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(4*mostText)); err != nil {
		return nil, err
	}
	if err := x.prepare(mode != "ro"); err != nil {
		return nil, damage(err)
	}
	return x, nil
}

// prepare checks the format, and makes the tables of a new file.
func (x *Index) prepare(writes bool) error {
	var v int
	if err := x.db.QueryRow("PRAGMA user_version").Scan(&v); err != nil || v == format {
		return err
	}
	var tables int
	if err := x.db.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return err
	}
	if v != 0 || tables > 0 {
		return ErrDamaged
	}
	if !writes {
		return ErrNoIndex
	}
	tx, err := x.db.Begin()
	if err != nil {
		return err
	}
	if _, err := tx.Exec(schema + fmt.Sprintf("PRAGMA user_version = %d;", format)); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Codes of SQLite's errors that say that a file is no good.
const (
	codeCorrupt  = 11
	codeNoDB     = 26
	codeGeneral  = 1   // a table is missing, say
	codeShort    = 522 // the file ends early
	codeReadOnly = 776 // a journal is to be rolled back, which a reader may not
)

// damage makes an error ErrDamaged when it says that the file is no good.
func damage(err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch code := e.Code(); {
	case code == codeShort, code&0xff == codeCorrupt, code&0xff == codeNoDB,
		code == codeGeneral && strings.Contains(e.Error(), "no such"):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case code == codeReadOnly:
		return fmt.Errorf("an update of the index was interrupted; it continues soon: %w", err)
	}
	return err
}

// Close lets go of the index.
func (x *Index) Close() error {
	if x.plain != nil {
		x.plain.Close()
	}
	return x.db.Close()
}

// IndexSizes is what there is in an index.
type IndexSizes struct {
	Mirrors int   `json:"mirrors"`
	Pages   int   `json:"pages"` // of published versions
	Bytes   int64 `json:"bytes"` // that the index takes
}

// Sizes says how much there is.
func (x *Index) Sizes(ctx context.Context) (s IndexSizes, err error) {
	const q = "SELECT count(*), coalesce(sum(pages), 0) FROM job"
	if err := x.db.QueryRowContext(ctx, q).Scan(&s.Mirrors, &s.Pages); err != nil {
		return s, damage(err)
	}
	if fi, err := os.Stat(x.path); err == nil {
		s.Bytes = fi.Size()
	}
	return s, nil
}

// Stand is up to which version a mirror is indexed.
type Stand struct {
	Version int
	At      time.Time // of that version
}

// Stands says of all mirrors of the index how far they are.
func (x *Index) Stands(ctx context.Context) (map[string]Stand, error) {
	out := map[string]Stand{}
	err := each(ctx, x.db, "SELECT name, version, at FROM job", func(scan func(...any) error) error {
		var name string
		var s Stand
		var at int64
		err := scan(&name, &s.Version, &at)
		s.At = time.Unix(at, 0).UTC()
		out[name] = s
		return err
	})
	return out, damage(err)
}
