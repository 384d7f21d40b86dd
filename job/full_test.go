// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"

	"mirrord/evolution/policy"
)

func TestAskAll(t *testing.T) {
	j := Default("https://www.example.org/")
	j.Limits.MaxRequests, j.Evidence.Expiry, j.Policy = 5, true, policy.Near
	j.AskAll()
	if j.Policy != policy.Full || j.Limits.MaxRequests != 0 || j.Evidence.Listings || j.Evidence.Sitemaps ||
		j.Evidence.Expiry {
		t.Errorf("%+v", j)
	}
}

// What may be skipped for how long goes by the schedule when limits.max_skip_time is empty.
func TestMaxSkipTime(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		`schedule = "0 3 * * *"`: 30 * day,
		`schedule = "0 3 * * 1"`: 98 * day,
		`schedule = "0 3 1 * *"`: 180 * day,
		``:                       30 * day,
		"schedule = \"0 3 * * 1\"\nlimits.max_skip_time = \"30d\"": 30 * day,
		`limits.max_skip_time = "0"`:                               0,
	} {
		j, err := Parse("a", "a.toml", []byte("url = \"http://a.example/\"\n"+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := j.MaxSkipTime(); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	unitless := "url = \"http://a.example/\"\nlimits.max_skip_time = \"5\"\n"
	if _, err := Parse("a", "a.toml", []byte(unitless)); err == nil {
		t.Error("a duration without a unit passes")
	}
}
