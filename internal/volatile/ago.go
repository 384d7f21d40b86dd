// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// age is how long ago something was, as a page says it: 3 days.
type age struct {
	count int64
	unit  time.Duration
}

// sameMoment reports whether b, which was said so much later, may be of the same moment: it is no younger,
// and both are as precise as their units. What was updated meanwhile is younger.
func (a age) sameMoment(b age, later time.Duration) bool {
	was, is := time.Duration(a.count)*a.unit, time.Duration(b.count)*b.unit
	return is >= was && (is-was-later).Abs() <= max(a.unit, b.unit)
}

// ageOf reads what agoUnit found.
func ageOf(text []byte) age {
	n := digitsIn(text)
	count, err := strconv.ParseInt(string(text[:n]), 10, 64)
	if err != nil {
		count = 1
	}
	return age{count, unitOf(lastWord(text[n:]))}
}

// countIn returns the length of the number of an age, or of the word for one, that a word begins with; 0 for
// none.
func countIn(w []byte) int {
	switch n := digitsIn(w); {
	case n > 3:
		return 0
	case n > 0:
		return n
	case ones[strings.ToLower(string(w))]:
		return len(w)
	}
	return 0
}

// agoUnit returns the end of the unit of an age of which the number is b[i:n]: of "3 days ago", "5h ago", "an
// hour ago", "vor 3 Tagen", "il y a 3 jours", "hace 3 días". 0: it is that of no age.
func agoUnit(b []byte, i, n int) int {
	at := n + blanks(b[n:])
	end := at
	for end < len(b) && wordByte(b[end]) {
		end++
	}
	if unitOf(b[at:end]) == 0 {
		return 0
	}
	after := end + blanks(b[end:])
	rest := b[after:]
	if after > end && len(rest) >= 3 && bytes.EqualFold(rest[:3], []byte("ago")) &&
		(len(rest) == 3 || !wordByte(rest[3])) {
		return end
	}
	before := " " + strings.ToLower(string(bytes.TrimRight(b[max(0, i-10):i], " \n\t")))
	for _, word := range [...]string{"vor", "il y a", "hace"} {
		if lead, ok := strings.CutSuffix(before, word); ok && !wordByte(lead[len(lead)-1]) {
			return end
		}
	}
	return 0
}

// digitsIn returns how many digits b begins with.
func digitsIn(b []byte) (n int) {
	for n < len(b) && digit(b[n]) {
		n++
	}
	return n
}

// blanks returns the length of the white space at the start of b, no-break spaces included.
func blanks(b []byte) (n int) {
	for n < len(b) {
		switch rest := b[n:]; {
		case space(rest[0]):
			n++
		case bytes.HasPrefix(rest, []byte("\u00a0")):
			n += 2
		case bytes.HasPrefix(rest, []byte("&nbsp;")), bytes.HasPrefix(rest, []byte("&#160;")):
			n += 6
		default:
			return n
		}
	}
	return n
}

// lastWord returns the word at the end of b, which ends with one.
func lastWord(b []byte) []byte {
	for i := len(b); i > 0; i-- {
		if !wordByte(b[i-1]) || bytes.HasSuffix(b[:i], []byte("\u00a0")) {
			return b[i:]
		}
	}
	return b
}

// ones stand for one in an age.
var ones = setOf("a an one einem einer un une una")

// units are the words for units of time.
var units = func() map[string]time.Duration {
	const day = 24 * time.Hour
	out := map[string]time.Duration{}
	for unit, words := range map[time.Duration]string{
		time.Second: "second seconds sec secs s sekunde sekunden seconde secondes segundo segundos",
		time.Minute: "minute minutes min mins m minuten minuto minutos",
		time.Hour:   "hour hours hr hrs h stunde stunden heure heures hora horas",
		day:         "day days d tag tagen jour jours día días",
		7 * day:     "week weeks wk wks w woche wochen semaine semaines semana semanas",
		30 * day:    "month months mo monat monaten mois mes meses",
		365 * day:   "year years yr yrs y jahr jahren an ans año años",
	} {
		for w := range strings.FieldsSeq(words) {
			out[w] = unit
		}
	}
	return out
}()

// unitOf returns the length of a unit of time; 0 for other words.
func unitOf(w []byte) time.Duration { return units[strings.ToLower(string(w))] }
