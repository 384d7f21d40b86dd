// SPDX-License-Identifier: Apache-2.0

package result

import (
	"cmp"
	"encoding/json"
)

// oldKeys are the fields of a Summary that had other keys up to version 0.2.0: runs that it stored have them.
type oldKeys struct {
	AlternatesSame int64  `json:"alternatesUnchanged"`
	ReusedOf       string `json:"reusedOf"`
	RepairedLinks  int    `json:"repairedLinks"`
	SameText       int64  `json:"sameText"`
	NearText       int64  `json:"nearText"`
}

// UnmarshalJSON reads a summary, and also one that was stored with the keys of before.
func (s *Summary) UnmarshalJSON(data []byte) error {
	type plain Summary // without this method
	if err := json.Unmarshal(data, (*plain)(s)); err != nil {
		return err
	}
	var old oldKeys
	if err := json.Unmarshal(data, &old); err != nil {
		return err
	}
	s.AlternatesSame = cmp.Or(s.AlternatesSame, old.AlternatesSame)
	s.ReusedOf = cmp.Or(s.ReusedOf, old.ReusedOf)
	s.RepairedLinks = cmp.Or(s.RepairedLinks, old.RepairedLinks)
	s.SameText = cmp.Or(s.SameText, old.SameText)
	s.NearText = cmp.Or(s.NearText, old.NearText)
	return nil
}
