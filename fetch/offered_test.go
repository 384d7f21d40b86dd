// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"net/http"
	"testing"
)

// TestOfferedName reads the cases of RFC 6266 and RFC 8187, and what servers send beside them.
func TestOfferedName(t *testing.T) {
	for field, want := range map[string]string{
		"":                                       "",
		"attachment":                             "",
		"inline":                                 "",
		`attachment; filename="report 7.pdf"`:    "report 7.pdf",
		`Attachment; filename=example.html`:      "example.html",
		`INLINE; FILENAME= "an example.html"`:    "an example.html",
		`attachment;filename="a;b=c.pdf";size=3`: "a;b=c.pdf",
		`attachment; filename="\"quoted\".txt"`:  `"quoted".txt`,
		`attachment; filename=my report.pdf`:     "my report.pdf",
		`attachment; filename*=UTF-8''%e2%82%ac%20rates.pdf; filename="EURO.pdf"`:   "€ rates.pdf",
		`attachment; filename="EURO.pdf"; filename*=utf-8'en'%e2%82%ac%20rates.pdf`: "€ rates.pdf",
		`attachment; filename*=iso-8859-1''%A3.txt`:                                 "£.txt",
		`attachment; filename*=UTF-8''%ff.txt; filename=plain.txt`:                  "plain.txt",
		`attachment; filename*=EBCDIC''x.txt; filename=plain.txt`:                   "plain.txt",
		`attachment; filename*=UTF-8''`:                                             "",
		"attachment; filename=\"caf\xe9.txt\"":                                      "café.txt",
		"attachment; filename=\"café.txt\"":                                         "café.txt",
		`attachment; filename="=?UTF-8?B?Y2Fmw6kudHh0?="`:                           "café.txt",
		`filename="no type.zip"`:                                                    "no type.zip",
		`attachment; filename="../../etc/passwd"`:                                   "../../etc/passwd",
		`attachment; filename`:                                                      "",
		`attachment; name="x.zip"`:                                                  "",
	} {
		h := Head{Header: http.Header{"Content-Disposition": {field}}}
		if got := h.OfferedName(); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}
