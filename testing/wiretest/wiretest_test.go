// SPDX-License-Identifier: Apache-2.0

package wiretest

import "testing"

func TestLacksJSON(t *testing.T) {
	const recorded = `{"a":[1,{"b":"c"}],"n":null}`
	for got, same := range map[string]bool{
		recorded:                              true,
		`{"n":null,"a":[1,{"b":"c","d":2}]}`:  true,
		`{"a":[1,{"b":"c"}]}`:                 false,
		`{"a":[1,{"b":"d"}],"n":null}`:        false,
		`{"a":[1.0,{"b":"c"}],"n":null}`:      false,
		`{"a":[1],"n":null}`:                  false,
		`{"a":[1,{"b":"c"},2],"n":null}`:      false,
		`{"a":{"0":1},"n":null}`:              false,
		`{"a":[1,{"b":"c"}],"n":null}` + "{}": false,
		`{`:                                   false,
	} {
		if err := LacksJSON(got, recorded); (err == nil) != same {
			t.Errorf("%s: %v", got, err)
		}
	}
}

func TestDiffers(t *testing.T) {
	r := Request{"POST", "/v1/a?n=1", `{"wait":true}`}
	for got, same := range map[Request]bool{
		{"POST", "/v1/a?n=1", `{"wait": true}`}:            true,
		{"POST", "/v1/a?n=1", `{"wait":true,"full":true}`}: false,
		{"POST", "/v1/a?n=1", ``}:                          false,
		{"GET", "/v1/a?n=1", `{"wait":true}`}:              false,
		{"POST", "/v1/a", `{"wait":true}`}:                 false,
	} {
		if err := r.Differs(got); (err == nil) != same {
			t.Errorf("%+v: %v", got, err)
		}
	}
}
