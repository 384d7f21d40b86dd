// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// age is how long ago something was, as a page says it: 3 days.
type age struct {
	long time.Duration
	unit time.Duration // the smallest one that was said; 0: no age
}

// sameMoment reports whether b, which was said so much later, may be of the same moment: it is no younger,
// and both are as precise as their units. What was updated meanwhile is younger.
func (a age) sameMoment(b age, later time.Duration) bool {
	return b.long >= a.long && (b.long-a.long-later).Abs() <= max(a.unit, b.unit)
}

// ageAt returns the age that a text says from a byte on, at which a word begins, and its place: "3 days ago",
// "about an hour ago", "2 days, 5 hours ago", "just now", "vor 3 Tagen", "3 giorni fa", "3 天前". Where the
// text says nothing else, all of it is its place, and "3 days" is one, too; so is "3 months" when what stands
// beside the text tells it. end is 0 for no age.
func ageAt(b []byte, i int, beside func() bool) (a age, from, end int) {
	w, _ := wordAt(b, i)
	if w == "" || (!digit(w[0]) && !ageWords[w]) {
		return a, 0, 0
	}
	at, told := i, false
	for _, phrase := range justNow {
		if n := phraseAt(b, i, phrase); n > 0 {
			a, at, told = age{unit: time.Minute}, i+n, true
			break
		}
	}
	if a.unit == 0 {
		if a, at, told = sumAt(b, i); a.unit == 0 {
			return a, 0, 0
		}
	}
	if blank(b[:i]) && blank(b[at:]) && (told || a.unit < mostAlone || beside()) {
		return a, 0, len(b)
	}
	if told && w != "current" && (w != "now" || blank(b[at:])) {
		return a, i, at
	}
	return age{}, 0, 0
}

// mostAlone is how precise an age is of which nothing says that it is one: 3 years may be a term.
const mostAlone = 7 * 24 * time.Hour

// sumAt returns an age of numbers and units, and whether some word beside them says that it is one.
func sumAt(b []byte, i int) (a age, end int, told bool) {
	at := i
	for _, lead := range [...]string{"vor", "il y a", "hace", "há"} {
		if n := phraseAt(b, at, lead); n > 0 {
			at, told = at+n+blanks(b[at+n:]), true
		}
	}
	less := false
	for _, lead := range [...]string{"less than", "about", "over", "almost", "etwa", "environ"} {
		if n := phraseAt(b, at, lead); n > 0 {
			at, less = at+n+blanks(b[at+n:]), less || lead == "less than"
		}
	}
	for {
		count, one, n := countAt(b, at)
		if n == 0 {
			break
		}
		unit, m := wordAt(b, at+n+blanks(b[at+n:]))
		unit, before := strings.CutSuffix(unit, "前")
		long := units[unit]
		if long == 0 || (a.unit > 0 && long >= a.unit) {
			break
		}
		a.long, a.unit, told, end = a.long+long*count/one, long/one, told || before, m
		at = m + blanks(b[m:])
		for _, and := range [...]string{",", "and", "und", "et", "y"} {
			if n := phraseAt(b, at, and); n > 0 {
				at += n + blanks(b[at+n:])
			}
		}
	}
	if a.unit == 0 {
		return a, 0, false
	}
	if less {
		a.long = 0
	}
	if after := toldAt(b, end+blanks(b[end:])); after > 0 {
		return a, after, true
	}
	return a, end, told
}

// toldAt returns the end of a word at a byte that says that an age stands before it; 0: no such word.
func toldAt(b []byte, i int) (end int) {
	w, end := wordAt(b, i)
	switch w {
	case "ago", "fa", "geleden", "sedan", "siden", "temu", "назад", "atrás":
		return end
	}
	return 0
}

// toldBeside reports whether the text before an element or the one behind it says that the element holds an
// age, as in <a>3 months</a> ago.
func toldBeside(before, behind []byte) bool {
	before = before[max(0, len(before)-longestStart):]
	for bytes.HasSuffix(before, []byte(">")) {
		before = before[:max(0, bytes.LastIndexByte(before, '<'))]
	}
	words := bytes.Fields(before[bytes.LastIndexByte(before, '>')+1:])
	switch string(bytes.ToLower(slices.Concat(words[max(0, len(words)-1):]...))) {
	case "vor", "hace", "há":
		return true
	}
	for bytes.HasPrefix(behind, []byte("</")) {
		end := bytes.IndexByte(behind[:min(len(behind), longestEnd)], '>')
		if end < 0 {
			return false
		}
		behind = behind[end+1:]
	}
	return toldAt(behind, blanks(behind)) > 0
}

// How many bytes a start tag and an end tag have at most that stand between an age and what tells it.
const longestStart, longestEnd = 256, 16

// countAt returns the number that stands at a byte, or the word for one, in parts of which so many are one,
// and its length; 0: none does.
func countAt(b []byte, i int) (count, one time.Duration, n int) {
	if n = digitsIn(b[i:]); n > 0 && n <= 3 {
		for _, c := range b[i : i+n] {
			count = 10*count + time.Duration(c-'0')
		}
		one = 1
		if rest := b[i+n:]; len(rest) > 1 && rest[0] == '.' && digit(rest[1]) && digitsIn(rest[1:]) <= 2 {
			for _, c := range rest[1 : 1+digitsIn(rest[1:])] {
				count, one = 10*count+time.Duration(c-'0'), 10*one
			}
			n += 1 + digitsIn(rest[1:])
		}
		return count, one, n
	}
	switch w, end := wordAt(b, i); w {
	case "a", "an", "one", "einem", "einer", "un", "une", "una", "uma", "um", "een":
		return 1, 1, end - i
	}
	return 0, 0, 0
}

// wordAt returns the word at a byte in small letters, and its end.
func wordAt(b []byte, i int) (w string, end int) {
	for end = i; end < len(b) && wordByte(b[end]) && !bytes.HasPrefix(b[end:], []byte("\u00a0")); end++ {
	}
	return strings.ToLower(string(b[i:end])), end
}

// phraseAt returns the length of a phrase at a byte; 0: it does not stand there.
func phraseAt(b []byte, i int, phrase string) int {
	n := len(phrase)
	if len(b)-i < n || !strings.EqualFold(string(b[i:i+n]), phrase) ||
		(len(b) > i+n && wordByte(b[i+n]) && wordByte(phrase[n-1])) {
		return 0
	}
	return n
}

// digitsIn returns how many digits b begins with.
func digitsIn(b []byte) int { return len(b) - len(bytes.TrimLeft(b, "0123456789")) }

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

// justNow are ways to say that something was less than a minute ago. The last two are so only alone,
// "now" also at the end of a text, as in "updated now".
var justNow = []string{
	"just now", "right now", "moments ago", "a moment ago", "a few seconds ago", "a few seconds", "gerade eben",
	"à l'instant", "ahora mismo", "刚刚", "now", "current",
}

// ageWords are words with which an age may begin.
var ageWords = setOf(`
	a an one einem einer un une una uma um een vor il hace há less about over almost etwa environ
	just right moments gerade à ahora 刚刚 now current`)

// units are the words for units of time.
var units = func() map[string]time.Duration {
	const day = 24 * time.Hour
	out := map[string]time.Duration{}
	for unit, words := range map[time.Duration]string{
		time.Second: `second seconds sec secs s sekunde sekunden seconde secondes segundo segundos secondi
			seconden sekund sekunder sekundy секунд секунды секунду 秒 秒钟`,
		time.Minute: `minute minutes min mins m minuten minuto minutos minuti minuut minut minuter minutter
			minuty минут минуты минуту 分 分钟 分鐘`,
		time.Hour: `hour hours hr hrs h stunde stunden heure heures hora horas ora ore uur uren timme timmar
			time timer godzin godziny godzinę час часа часов 时 小时 小時 時間`,
		day: `day days d tag tagen jour jours día días dia dias giorno giorni dag dagen dagar dage dni dzień
			день дня дней 天 日`,
		7 * day: `week weeks wk wks w woche wochen semaine semaines semana semanas settimana settimane weken
			vecka veckor uge uger tydzień tygodnie tygodni неделю недели недель 周 週 週間`,
		30 * day: `month months mo monat monaten mois mes meses mese mesi mês maand maanden månad månader
			måned måneder miesiąc miesiące miesięcy месяц месяца месяцев 个月 個月 ヶ月 か月`,
		365 * day: `year years yr yrs y jahr jahren an ans año años ano anos anno anni jaar år rok lata lat
			год года лет 年`,
	} {
		for w := range strings.FieldsSeq(words) {
			out[w] = unit
		}
	}
	return out
}()
