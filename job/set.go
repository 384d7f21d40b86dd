// SPDX-License-Identifier: Apache-2.0

package job

import (
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Set changes one key: key is dotted ("polite.connections"), value is a TOML value, or bare
// words for a string. The error is of type Errors. Only the key itself is checked; call Validate when all
// keys are set.
func (j *Job) Set(key, value string) error {
	p := newParser(j, SetSource, everyKey())
	key = strings.TrimSpace(key)
	v := looseValue(value)
	k, known := p.key(key)
	if base, name, ok := strings.Cut(key, "auth.headers."); ok && base == "" {
		return j.setHeader(p, name, v)
	}
	switch {
	case key == "scope":
		p.scope(v)
	case key == "priority":
		p.priority(v)
	case known:
		if _, text := k.of(j).(*string); text {
			if _, isText := v.(string); !isText {
				v = value // user_agent=1, publish.keep=7: the words as they stand
			}
		}
		if err := p.assign(k, v); err != nil {
			p.fail(key, key, err)
		} else if key == "scope.prefixes" {
			j.Scope.Kind = "prefixes"
		}
	default:
		table, leaf := cutLast(key)
		p.unknown(table, leaf, v)
	}
	return p.errs.asError()
}

func (j *Job) setHeader(p *parser, name string, v any) error {
	s, err := decodeSecret("auth.headers."+name, v)
	if err != nil {
		p.fail("auth.headers", "auth.headers", err)
		return p.errs.asError()
	}
	headers := map[string]Secret{name: s}
	for k, old := range j.Auth.Headers {
		if k != name {
			headers[k] = old
		}
	}
	j.Auth.Headers = headers
	return nil
}

// looseValue reads a TOML value; any other text is a string.
func looseValue(s string) any {
	if len(s) <= MaxFile && !strings.ContainsAny(s, "\n\r") {
		var doc map[string]any
		if err := toml.Unmarshal([]byte("v = "+s), &doc); err == nil && len(doc) == 1 {
			if v, ok := doc["v"]; ok {
				switch v.(type) {
				case string, bool, int64, float64, []any, map[string]any:
					return v
				}
			}
		}
	}
	return s
}
