// SPDX-License-Identifier: Apache-2.0

package deadlinks

import (
	"mirrord/mirror/render"
	"mirrord/mirror/urls"
)

// Applied says for which version, and with which cures, all documents were looked at. It is stored with the
// site; the zero value says that they have to be looked at again.
type Applied struct {
	Hash    string `json:"hash"`
	Version int    `json:"version"`
}

// appliedFact keeps Applied with a site.
const appliedFact = "repair"

// Load reads what was saved: nil when nothing ever was, the zero value when it cannot be decoded.
func Load(k urls.Facts) (*Applied, error) {
	data, err := k.Fact(appliedFact)
	if (err != nil) || (data == nil) {
		return nil, err
	}
	a, _, err := urls.ReadFact[Applied](k, appliedFact)
	return &a, err
}

// Save keeps a with a site.
func (a Applied) Save(k urls.Facts) error { return urls.WriteFact(k, appliedFact, a) }

// InVersion returns the repaired links of a kept version; nil when no version ever had any.
func InVersion(k urls.Facts, m render.Material, number int) (map[string]render.Cure, error) {
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
