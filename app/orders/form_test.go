// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The fields of a web form and JSON of the same say the same, and FormOf leads back.
func TestFormsAgree(t *testing.T) {
	fields, err := url.ParseQuery("url=+https://a.example/x/+&scope=host&depth=3&files=70&size=9" +
		"&types=html,+pdf%3Bpng&not_types=zip&first=path&language=de,+en&delay=0.5&form=zim&form=phm&form=zim" +
		"&mail=ann@a.example&start=2026-12-01T03:00&fresh=@weekly&window=01:00-05:00&part=yes")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadForm(fields)
	if err != nil {
		t.Fatal(err)
	}
	want := Wish{
		URL:      "https://a.example/x/",
		Scope:    "host",
		Depth:    3,
		Files:    70,
		Size:     9e6,
		Types:    []string{"html", "pdf", "png"},
		NotTypes: []string{"zip"},
		First:    "path",
		Language: "de, en",
		Delay:    time.Second / 2,
		Forms:    []string{"phm", "zim"},
		Mail:     "ann@a.example",
		Start:    time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC),
		Fresh:    "@weekly",
		Window:   "01:00-05:00",
		Part:     true,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("a web form:\n got %+v\nwant %+v", got, want)
	}
	sent, err := json.Marshal(FormOf(want))
	if err != nil {
		t.Fatal(err)
	}
	var f WishForm
	if err := json.Unmarshal(sent, &f); err != nil {
		t.Fatal(err)
	}
	if got := f.Wish(); !reflect.DeepEqual(got, want) {
		t.Errorf("JSON:\n got %+v\nwant %+v", got, want)
	}
	if s := StartField(want.Start); s != fields.Get("start") {
		t.Errorf("the field of the start: %q", s)
	}
}

// An invalid number, time or size is reported with the name of its field; the rest is read all the same.
func TestFormProblems(t *testing.T) {
	for field, value := range map[string]string{
		"depth": "x",
		"files": "1e3",
		"size":  "1000000001",
		"delay": "NaN",
		"start": "tomorrow",
	} {
		w, err := ReadForm(url.Values{"url": {"https://a.example/"}, field: {value}})
		if err == nil || !strings.HasPrefix(err.Error(), field+": ") || w.URL != "https://a.example/" {
			t.Errorf("%s=%s: %+v, %v", field, value, w, err)
		}
	}
	if w, err := ReadForm(url.Values{}); err != nil || w.Files != 0 || w.Delay != 0 || !w.Start.IsZero() {
		t.Errorf("nothing: %+v, %v", w, err)
	}
}
