// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"

	"mirrord/site"
	"mirrord/store/record"
)

// Origins calls f for each origin of which the mirror holds something, with a URL of it, in key order. It
// looks at a few records of each.
func (s *Records) Origins(f func(u site.URL) error) error {
	var from []byte
	for {
		var last []byte // prefix of the keys of one origin
		tries := 0
		err := s.eachFrom(bResources, from, func(k, v []byte) error {
			u, err := record.URLOfKey(k)
			if err != nil {
				return err
			}
			prefix := k[:bytes.IndexByte(k, '/')+1]
			if tries++; !bytes.Equal(prefix, last) {
				last, tries = bytes.Clone(prefix), 1
			}
			var r record.Resource
			if err := r.Decode(u, v); err != nil {
				return err
			}
			if r.InSet {
				if err := f(u); err != nil {
					return err
				}
			}
			if r.InSet || tries >= originTries {
				return errPassed
			}
			return nil
		})
		if err != errPassed {
			return err
		}
		from = last
		from[len(from)-1]++ // behind every key that begins so
	}
}

// originTries is how many records of an origin are looked at for one that the mirror holds.
const originTries = 200
