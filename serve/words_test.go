// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// Every catalogue has each text, with the values of the English one, and no others.
func TestWordsAreComplete(t *testing.T) {
	l, err := readLanguages()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	value := regexp.MustCompile(`\{\w+\}`)
	valuesOf := func(s string) []string { return slices.Sorted(slices.Values(value.FindAllString(s, -1))) }
	for _, w := range l.all {
		names = append(names, w.Lang)
		if len(w.Months) != 12 || slices.Contains(w.Months, "") {
			t.Errorf("%s: months %q", w.Lang, w.Months)
		}
		is, english := reflect.ValueOf(*w), reflect.ValueOf(*l.all[0])
		for i := range is.NumField() {
			name := is.Type().Field(i).Name
			if name == "Months" || name == "Lang" {
				continue
			}
			text, want := is.Field(i).String(), english.Field(i).String()
			if text == "" || !slices.Equal(valuesOf(text), valuesOf(want)) {
				t.Errorf("%s: %s is %q, in English %q", w.Lang, name, text, want)
			}
		}
		text, err := wordFiles.ReadFile("words/" + w.Lang + ".toml")
		if err != nil {
			t.Fatal(err)
		}
		if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(new(words)); err != nil {
			t.Errorf("%s: %v", w.Lang, err)
		}
	}
	if got := strings.Join(names, " "); got != "en de es fr hu ja zh" {
		t.Errorf("languages %s", got)
	}
}

func TestWordsChosen(t *testing.T) {
	l, err := readLanguages()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ accept, page, want string }{
		{"", "", "en"},
		{"", "de", "de"},
		{"", "de-AT", "de"},
		{"fr-CA, en;q=0.5", "de", "fr"},
		{"en-US,en;q=0.9", "de", "en"},
		{"nl, es;q=0.5", "", "es"},
		{"nl", "hu", "hu"},
		{"zh-TW", "", "zh"},
		{"ja;q=1, zh;q=0.9", "", "ja"},
		{"no sense;;", "nonsense", "en"},
	} {
		if got := l.choose(tc.accept, tc.page).Lang; got != tc.want {
			t.Errorf("%q of a page in %q: %s, want %s", tc.accept, tc.page, got, tc.want)
		}
	}
	day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for lang, want := range map[string]string{
		"en": "1 Mar 2026",
		"de": "1. März 2026",
		"hu": "2026. márc. 1.",
		"ja": "2026年3月1日",
	} {
		if got := l.choose(lang, "").Day(day); got != want {
			t.Errorf("%s: %s, want %s", lang, got, want)
		}
	}
}
