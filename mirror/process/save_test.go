// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"mirrord/mirror/urls"
	"mirrord/replica/text"
	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/pages"
	"mirrord/store/record"
)

// frames notes how documents are stored.
type frames struct{ how []string }

func (f *frames) add(how string) (record.Place, error) {
	f.how = append(f.how, how)
	return record.Place{Pack: 1, Off: int64(len(f.how)), Len: 1}, nil
}

func (f *frames) ReadFrame(*bodies.FrameReader, record.Place) (bodies.Frame, error) {
	return bodies.Frame{}, disk.ErrDamaged
}

func (f *frames) OneOff() bool { return false }

func (f *frames) NewFrameWriter() *bodies.FrameWriter { return nil }

func (f *frames) GatherFrame(*bodies.FrameWriter, bodies.FrameMeta, []byte, []byte) (record.Place, error) {
	return f.add("full")
}

func (f *frames) AppendFrameOver(
	*bodies.FrameWriter, bodies.FrameMeta, []byte, []byte, record.Place, record.Place,
) (record.Place, error) {
	return f.add("over")
}

type countedBodies struct{ n int }

func (b *countedBodies) Put([32]byte, []byte, time.Time) error {
	b.n++
	return nil
}

// A document goes over the one that it replaces; the record says where it lies.
func TestKeeper(t *testing.T) {
	f, b := new(frames), new(countedBodies)
	k := NewSaver(SaverOptions{Frames: f, Bodies: b, Log: slog.New(slog.DiscardHandler)})
	defer k.Close()
	now, old := record.Resource{ID: 3, InSet: true}, record.Resource{ID: 3}
	words := func() text.Said {
		t.Error("a page is read for its words although none are kept")
		return text.Said{}
	}
	if _, err := k.Document(nil, &Page{Now: &now, Old: &old, Said: words}); err != nil {
		t.Fatal(err)
	}
	if now.Body != record.PackBody || now.At.Off != 1 {
		t.Errorf("it lies at %v, %v", now.Body, now.At)
	}
	next := record.Resource{ID: 3, InSet: true}
	if _, err := k.Document(nil, &Page{Now: &next, Old: &now}); err != nil {
		t.Fatal(err)
	}
	blob := record.Resource{ID: 4, InSet: true}
	if _, err := k.Blob(&Page{
		Now: &blob,
		Old: &old,
	}, time.Time{}); err != nil || blob.Body != record.BlobBody || b.n != 1 {
		t.Errorf("%v, %v, %d bodies", err, blob.Body, b.n)
	}
	if len(f.how) != 2 || f.how[0] != "full" || f.how[1] != "over" {
		t.Errorf("stored %q", f.how)
	}
}

// What goes wrong with the texts is said once, and does not end the run.
func TestKeeperWithoutTexts(t *testing.T) {
	bad := errors.New("the disk is gone")
	failed := 0
	k := NewSaver(SaverOptions{
		Frames: new(frames),
		Bodies: new(countedBodies),
		Log:    slog.New(slog.DiscardHandler),
		Texts:  func() (*pages.Texts, error) { return nil, bad },
		Get:    func(site.URL) (record.Resource, bool, error) { return record.Resource{}, false, nil },
		URL:    func(uint32) site.URL { return site.URL{} },
		InSet:  func(uint32) bool { return true },
		Failed: func(err error) {
			if failed++; !errors.Is(err, bad) {
				t.Error(err)
			}
		},
	})
	defer k.Close()
	for id := range uint32(3) {
		now := record.Resource{ID: id, InSet: true, Digest: [32]byte{byte(id)}}
		as, err := k.Document(nil, &Page{
			Now:  &now,
			Old:  new(record.Resource),
			Said: func() text.Said { return text.Said{} },
		})
		if as != urls.Tally(0) || err != nil {
			t.Errorf("page %d: %v, %v", id, as, err)
		}
	}
	if failed != 1 {
		t.Errorf("it was said %d times", failed)
	}
}
