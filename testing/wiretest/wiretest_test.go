// SPDX-License-Identifier: Apache-2.0

package wiretest

import "testing"

func TestLacksJSON(t *testing.T) {
	recorded := Response{Body: `{"a":[1,{"b":"c","v":1}],"n":null}`, varies: map[string]bool{".a[].v": true}}
	for got, same := range map[string]bool{
		recorded.Body: true,
		`{"n":null,"a":[1,{"b":"c","v":2,"d":2}]}`: true,
		`{"a":[1,{"b":"c"}],"n":null}`:             false,
		`{"a":[1,{"b":"c","v":1}]}`:                false,
		`{"a":[1,{"b":"d","v":1}],"n":null}`:       false,
		`{"a":[1.0,{"b":"c","v":1}],"n":null}`:     false,
		`{"a":[1],"n":null}`:                       false,
		`{"a":[1,{"b":"c","v":1},2],"n":null}`:     false,
		`{"a":{"0":1},"n":null}`:                   false,
		recorded.Body + "{}":                       false,
		`{`:                                        false,
	} {
		if err := recorded.LacksJSON(got); (err == nil) != same {
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
