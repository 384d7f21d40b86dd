// SPDX-License-Identifier: Apache-2.0

package deadlinks

import (
	"encoding/json"

	"mirrord/mirror/render"
)

// Applied says for which version, and with which cures, all documents were looked at. It is stored with the
// site; the zero value says that they have to be looked at again.
type Applied struct {
	Hash    string `json:"hash"`
	Version int    `json:"version"`
}

// appliedFact keeps Applied with a site.
const appliedFact = "repair"

// SmallFacts keeps small facts of a site. *store.SiteNotes is one.
type SmallFacts interface {
	// Fact returns what SetFact kept under a name, nil when there is nothing.
	Fact(name string) ([]byte, error)
	// SetFact replaces the stored value.
	SetFact(name string, v []byte) error
}

// Load reads what was saved: nil when nothing ever was, the zero value when it cannot be decoded.
func Load(k SmallFacts) (*Applied, error) {
	data, err := k.Fact(appliedFact)
	if (err != nil) || (data == nil) {
		return nil, err
	}
	a := new(Applied)
	if json.Unmarshal(data, a) != nil {
		return new(Applied), nil
	}
	return a, nil
}

// Save keeps a with a site.
func (a Applied) Save(k SmallFacts) error {
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return k.SetFact(appliedFact, data)
}

// InVersion returns the repaired links of a kept version; nil when no version ever had any.
func InVersion(k SmallFacts, m render.Material, number int) (map[string]render.Cure, error) {
	if v, err := k.Fact(appliedFact); v == nil || err != nil {
		return nil, err
	}
	p, err := render.OpenPast(m, number)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	out := map[string]render.Cure{}
	for i := range p.Files() {
		links, err := render.RepairsOf(&p.Files()[i])
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			out[l.Was] = render.Cure{To: l.To, Why: l.Why}
		}
	}
	return out, nil
}
