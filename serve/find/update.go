// SPDX-License-Identifier: Apache-2.0

package find

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/zeebo/xxh3"
)

// mostText is how much of what a page says is kept and indexed, in bytes.
const mostText = 1 << 20

// PageText is what a page says.
type PageText struct {
	Path  string // mirror path
	Title string
	Said  string
	Links []uint32 // LinkHash of the URLs that it links to
}

// LinkHash stands for a URL in PageText.Links.
func LinkHash(url string) uint32 { return uint32(xxh3.HashString(url)) }

// Interval is the versions in which a URL had one body.
type Interval struct {
	First, Last int    // Last 0: it is the present one
	Body        uint64 // digest of the body
	Next        bool   // it follows the interval before it: the mirror always had the URL in between
}

// IndexChange is a change of what the index has of one mirror. Nothing of it is seen before Commit.
type IndexChange struct {
	x     *Index
	ctx   context.Context
	tx    *sql.Tx
	job   int64
	made  map[string]*sql.Stmt
	fold  *folder
	texts int   // that were added
	bytes int64 // of them
}

// Begin begins a change.
func (x *Index) Begin(ctx context.Context, job string) (_ *IndexChange, err error) {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, damage(err)
	}
	b := &IndexChange{
		x:    x,
		ctx:  ctx,
		tx:   tx,
		made: map[string]*sql.Stmt{},
		fold: newFolder(),
	}
	_, err = tx.ExecContext(ctx, "INSERT OR IGNORE INTO job(name, version, at, pages) VALUES(?, 0, 0, 0)", job)
	if err == nil {
		err = tx.QueryRowContext(ctx, "SELECT id FROM job WHERE name = ?", job).Scan(&b.job)
	}
	if err != nil {
		return nil, errors.Join(damage(err), b.Rollback())
	}
	return b, nil
}

// Added is how many texts were added in this batch, and how many bytes they have.
func (b *IndexChange) Added() (texts int, bytes int64) { return b.texts, b.bytes }

// Commit makes the change visible.
func (b *IndexChange) Commit() error { return damage(b.tx.Commit()) }

// Rollback takes the change back; after Commit it does nothing.
func (b *IndexChange) Rollback() error {
	if err := b.tx.Rollback(); !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}

// stmt prepares a statement once.
func (b *IndexChange) stmt(q string) (*sql.Stmt, error) {
	if s := b.made[q]; s != nil {
		return s, nil
	}
	s, err := b.tx.PrepareContext(b.ctx, q)
	if err != nil {
		return nil, damage(err)
	}
	b.made[q] = s
	return s, nil
}

func (b *IndexChange) exec(q string, args ...any) error {
	s, err := b.stmt(q)
	if err == nil {
		_, err = s.ExecContext(b.ctx, args...)
	}
	return damage(err)
}

// kept is a row of the table of texts.
type kept struct {
	id          int64
	first, last int
	body, same  int64
	used        bool
}

func (k *kept) meets(first, last int) bool {
	return (last == 0 || k.first <= last) && (k.last == 0 || first <= k.last)
}

// settled is what a row is to be.
type settled struct {
	row         *kept // nil: it is added
	first, last int
	body, same  int64
	text        *PageText // of an added page
}

// takes makes one of two that follow one another and say the same in other bytes.
func (s *settled) takes(next *settled) bool {
	if s.same != next.same || (s.row != nil && next.row != nil) {
		return false
	}
	s.last, s.body = next.last, next.body
	if next.row != nil {
		s.row = next.row
	}
	if next.text != nil {
		s.text = next.text
	}
	return true
}

// Settle makes the index have what a URL said in the kept versions, and nothing else. read returns what the
// page says in the interval number i; ok is false if it has no text. It is called for pages that the index
// does not have yet.
func (b *IndexChange) Settle(
	url string, all []Interval, read func(i int) (t PageText, ok bool, err error),
) error {
	rows, err := b.rows(url)
	if err != nil {
		return err
	}
	var out []settled
	for i, v := range all {
		s := settled{
			first: v.First,
			last:  v.Last,
			body:  int64(v.Body),
		}
		j := slices.IndexFunc(rows, func(k kept) bool {
			return !k.used && k.body == s.body && k.meets(s.first, s.last)
		})
		if j >= 0 {
			s.row, s.same = &rows[j], rows[j].same
			s.first = min(s.first, s.row.first)
		} else {
			t, ok, err := read(i)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			t.Said = cut(t.Said, mostText)
			s.text, s.same = &t, int64(xxh3.HashString(t.Title+"\n"+t.Said))
		}
		if s.row != nil {
			s.row.used = true
		}
		if n := len(out) - 1; v.Next && n >= 0 && out[n].takes(&s) {
			continue
		}
		out = append(out, s)
	}
	for i := range rows {
		if !rows[i].used {
			if err := b.drop(rows[i].id); err != nil {
				return err
			}
		}
	}
	for i := range out {
		if err := b.put(url, &out[i]); err != nil {
			return err
		}
	}
	return nil
}

// rows are what the index has of a URL, oldest first.
func (b *IndexChange) rows(url string) (out []kept, err error) {
	s, err := b.stmt("SELECT id, first, last, body, same FROM text WHERE job = ? AND key = ? AND url = ? " +
		"ORDER BY first")
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(b.ctx, b.job, keyOf(url), url)
	if err != nil {
		return nil, damage(err)
	}
	defer rows.Close()
	for rows.Next() {
		var k kept
		if err := rows.Scan(&k.id, &k.first, &k.last, &k.body, &k.same); err != nil {
			return nil, damage(err)
		}
		out = append(out, k)
	}
	return out, damage(rows.Err())
}

func keyOf(url string) int64 { return int64(xxh3.HashString(url)) }

// put adds or changes a row.
func (b *IndexChange) put(url string, s *settled) error {
	if s.row == nil {
		return b.add(url, s)
	}
	same := s.row.first == s.first && s.row.last == s.last && s.row.body == s.body
	if same {
		return nil
	}
	if (s.row.last == 0) != (s.last == 0) {
		if err := b.tag(s.row.id, s.last == 0); err != nil {
			return err
		}
	}
	const q = "UPDATE text SET first = ?, last = ?, body = ? WHERE id = ?"
	return b.exec(q, s.first, s.last, s.body, s.row.id)
}

// add adds a row.
func (b *IndexChange) add(url string, s *settled) error {
	const q = "INSERT INTO text(job, key, url, path, title, first, last, body, same) " +
		"VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"
	st, err := b.stmt(q)
	if err != nil {
		return err
	}
	t := s.text
	res, err := st.ExecContext(b.ctx, b.job, keyOf(url), url, t.Path, t.Title, s.first, s.last, s.body, s.same)
	if err != nil {
		return damage(err)
	}
	id, err := res.LastInsertId()
	if err != nil {
		return err
	}
	packed := b.x.pack.EncodeAll([]byte(t.Said), nil)
	err = b.exec("INSERT INTO said(id, text, links) VALUES(?, ?, ?)", id, packed, packLinks(t.Links))
	if err != nil {
		return err
	}
	b.texts++
	b.bytes += int64(len(t.Said))
	return b.words(id, s.last == 0, t.Title, t.Said)
}

// words writes the words of a row.
func (b *IndexChange) words(id int64, now bool, title, said string) error {
	tags, p := tagsOf(b.job, now), b.fold.page(title, said)
	err := b.exec("INSERT INTO terms(rowid, word) VALUES(?, ?)", id, tags+" "+string(p.each))
	if err != nil {
		return err
	}
	err = b.exec("INSERT INTO titles(rowid, tags, title) VALUES(?, ?, ?)", id, tags, string(p.title))
	if err != nil {
		return err
	}
	return b.exec("INSERT INTO words(rowid, tags, title, body, single) VALUES(?, ?, ?, ?, ?)", id, tags,
		string(p.title), string(p.body), string(p.single))
}

// tag changes whether a row is of the published version.
func (b *IndexChange) tag(id int64, now bool) error {
	var packed []byte
	var title string
	const q = "SELECT title, text FROM text JOIN said USING(id) WHERE id = ?"
	if err := b.tx.QueryRowContext(b.ctx, q, id).Scan(&title, &packed); err != nil {
		return damage(err)
	}
	said, err := b.x.unpack(packed)
	if err == nil {
		err = b.dropWords(id)
	}
	if err != nil {
		return err
	}
	return b.words(id, now, title, said)
}

// drop removes a row.
func (b *IndexChange) drop(id int64) error {
	return cmp.Or(b.dropWords(id), b.exec("DELETE FROM said WHERE id = ?", id),
		b.exec("DELETE FROM text WHERE id = ?", id))
}

// dropWords removes the words of a row.
func (b *IndexChange) dropWords(id int64) error {
	for _, in := range [...]wordTable{inAll, inWords, inTitles} {
		if err := b.exec("DELETE FROM "+string(in)+" WHERE rowid = ?", id); err != nil {
			return err
		}
	}
	return nil
}

// DatedVersion is a kept version of a mirror.
type DatedVersion struct {
	Number int
	At     time.Time
}

// Keep drops the texts that no kept version has. What the index knows of the dates of versions stays, so
// that it can say since when a page says something.
func (b *IndexChange) Keep(versions []DatedVersion) error {
	for _, v := range versions {
		const q = "INSERT OR REPLACE INTO version(job, number, at) VALUES(?, ?, ?)"
		err := b.exec(q, b.job, v.Number, v.At.Unix())
		if err != nil {
			return err
		}
	}
	return b.dropThose("AND last > 0", func(k kept) bool {
		return !slices.ContainsFunc(versions, func(v DatedVersion) bool { return k.meets(v.Number, v.Number) })
	})
}

// dropThose removes the rows of the mirror that meet a condition of SQL, and of which gone says so.
func (b *IndexChange) dropThose(also string, gone func(k kept) bool) error {
	var ids []int64
	const q = "SELECT id, first, last FROM text WHERE job = ? "
	err := each(b.ctx, b.tx, q+also, func(scan func(...any) error) error {
		var k kept
		err := scan(&k.id, &k.first, &k.last)
		if gone(k) {
			ids = append(ids, k.id)
		}
		return err
	}, b.job)
	for i := 0; i < len(ids) && err == nil; i++ {
		err = b.drop(ids[i])
	}
	return damage(err)
}

// Done notes that the mirror is indexed up to a version.
func (b *IndexChange) Done(s Stand) error {
	const q = "UPDATE job SET version = ?, at = ?, " +
		"pages = (SELECT count(*) FROM text t WHERE t.job = job.id AND t.last = 0) WHERE id = ?"
	return b.exec(q, s.Version, s.At.Unix(), b.job)
}

// Empty drops all that the index has of the mirror; without forgets the mirror itself, too.
func (b *IndexChange) Empty(without bool) error {
	if err := b.dropThose("", func(kept) bool { return true }); err != nil {
		return err
	}
	if err := b.exec("DELETE FROM version WHERE job = ?", b.job); err != nil || !without {
		return err
	}
	return b.exec("DELETE FROM job WHERE id = ?", b.job)
}

// cut shortens a text to a whole number of characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xc0 == 0x80 {
		most--
	}
	return s[:most]
}

func (x *Index) unpack(packed []byte) (string, error) {
	said, err := x.plain.DecodeAll(packed, nil)
	if err != nil {
		return "", errors.Join(ErrDamaged, err)
	}
	return string(said), nil
}

// packLinks writes hashes in ascending order, each once, as the differences between them.
func packLinks(links []uint32) []byte {
	all := slices.Compact(slices.Sorted(slices.Values(links)))
	out := make([]byte, 0, 4*len(all))
	last := uint32(0)
	for _, l := range all {
		out = binary.AppendUvarint(out, uint64(l-last))
		last = l
	}
	return out
}

// unpackLinks calls f for each of the hashes that packLinks wrote.
func unpackLinks(b []byte, f func(link uint32)) {
	last := uint32(0)
	for len(b) > 0 {
		d, n := binary.Uvarint(b)
		if n <= 0 {
			return
		}
		last += uint32(d)
		f(last)
		b = b[n:]
	}
}
