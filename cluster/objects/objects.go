// SPDX-License-Identifier: Apache-2.0

// Package objects is the door to a store of objects: whole values with names, which are put, read by range,
// listed and deleted. S3 is any server that speaks S3, Folder a directory, for example on NFS. Open makes one
// of them of an address; Retry repeats what failed for a moment; CheckConditions tests whether a store can
// put an object on a condition, which no store's name tells.
package objects

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"
	"time"
)

// Store keeps objects by their names: slash-separated, of letters, digits and "-_.~@+=". An
// object has at least one byte. Its methods may be
// called from several goroutines. An object is missing or whole: one that is being put is not visible.
type Store interface {
	// Put makes an object of the bytes, in place of what has the name, if the condition holds: else it is
	// ErrCondition and nothing is changed. After any other error the object may have been put or not.
	Put(ctx context.Context, name string, data *io.SectionReader, c Condition) (etag string, err error)
	// Get returns up to n bytes of an object from an offset on; fewer where it ends before. fs.ErrNotExist
	// when it is missing. n is at most MaxGet.
	Get(ctx context.Context, name string, from, n int64) ([]byte, Info, error)
	// Delete removes an object. One that is missing is not an error.
	Delete(ctx context.Context, name string) error
	// List yields the objects whose names begin with a prefix, in order of their names. After an error it ends.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
	// String is the address, without secrets.
	String() string
}

// MaxGet is how many bytes one Get returns at most.
const MaxGet = 8 << 20

// Info says what an object is. Its time is that of the store's clock.
type Info struct {
	Name string
	Size int64
	ETag string // another one for other bytes; "" in lists and for large objects of a folder
	Time time.Time
}

// Condition is what must hold for a Put. The zero value is nothing.
type Condition struct {
	ETag string // the object must be the one with this ETag
	New  bool   // there must be none
}

// Errors of stores.
var (
	// ErrCondition says that an object was not put because another one, or none, has its name.
	ErrCondition = errors.New("the object is another one than expected")
	// ErrDenied reports that the store refuses the request: trying again would not help.
	ErrDenied = errors.New("access denied")
	// ErrUnavailable says that all attempts of a Retry failed. Trying again later may help.
	ErrUnavailable = errors.New("the store is not available")
)

// Bytes makes of a slice what Put takes. The slice is not changed.
func Bytes(b []byte) *io.SectionReader {
	return io.NewSectionReader(bytes.NewReader(b), 0, int64(len(b)))
}

// ReadAll returns all of an object.
func ReadAll(ctx context.Context, s Store, name string) ([]byte, Info, error) {
	b, info, err := s.Get(ctx, name, 0, MaxGet)
	for err == nil && int64(len(b)) < info.Size {
		var more []byte
		more, _, err = s.Get(ctx, name, int64(len(b)), MaxGet)
		if err == nil && len(more) == 0 {
			err = fmt.Errorf("%s: %w", name, io.ErrUnexpectedEOF)
		}
		b = append(b, more...)
	}
	return b, info, err
}

// RandomName returns a name that no other object has.
func RandomName() string { return strings.ToLower(rand.Text()) }

// ErrLacks says that a store cannot put on a condition.
var ErrLacks = errors.New("it cannot put on a condition")

// CheckConditions puts a small object several times and says what the store lacks that keeping a pointer in
// it needs; nil when it has all. The object is removed again.
func CheckConditions(ctx context.Context, s Store, prefix string) (err error) {
	name := prefix + "probe-" + RandomName()
	lacks := func(what string) error {
		return fmt.Errorf("%s: %s: %w, so two machines could each overwrite what the other one has stored; "+
			"use a store that can, such as a folder (file:///DIR) or an S3 server with conditional writes", s, what,
			ErrLacks)
	}
	put := func(text string, c Condition) (string, error) { return s.Put(ctx, name, Bytes([]byte(text)), c) }
	etag, err := put("one", Condition{New: true})
	if err != nil {
		return fmt.Errorf("write to %s: %w", s, err)
	}
	defer func() { err = errors.Join(err, s.Delete(ctx, name)) }()
	if _, err = put("two", Condition{New: true}); !errors.Is(err, ErrCondition) {
		return errors.Join(lacks("it ignores If-None-Match"), err)
	}
	next, err := put("three", Condition{ETag: etag})
	if err != nil {
		return errors.Join(lacks("it does not take If-Match"), err)
	}
	if _, err = put("four", Condition{ETag: etag}); !errors.Is(err, ErrCondition) {
		return errors.Join(lacks("it ignores If-Match"), err)
	}
	b, info, err := s.Get(ctx, name, 1, 3)
	if err == nil && (string(b) != "hre" || info.Size != 5 || info.ETag != next) {
		err = fmt.Errorf("%s: a part of an object was requested and %q of %d bytes came; "+
			"the server is of no use for this", s, b, info.Size)
	}
	return err
}

func missing(name string) error { return fmt.Errorf("object %s: %w", name, fs.ErrNotExist) }
