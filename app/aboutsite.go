// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"

	"mirrord/mirror"
	"mirrord/status"
	"mirrord/store"
)

// aboutSite adds to the status of one job what only its site knows. A site that cannot be read adds nothing:
// judgeTree says why.
func aboutSite(j *status.Job, st *store.State) {
	_ = view(st, j.Name, func(s *store.Site) (err error) {
		j.Forgotten, err = forgottenLines(s)
		return err
	})
}

// mostForgotten is how many lines are said of what was taken out of a mirror.
const mostForgotten = 20

// forgottenLines says what was taken out of a mirror, and why.
func forgottenLines(s *store.Site) (lines []string, err error) {
	down, err := mirror.Forgotten(s)
	if err != nil {
		return nil, err
	}
	for i := range down.List {
		if i == mostForgotten {
			lines = append(lines, fmt.Sprintf("and %d more: mirrord forget %s", len(down.List)-i, s.Name))
			break
		}
		lines = append(lines, down.List[i].What+" "+down.List[i].Sentence())
	}
	return lines, nil
}

// forgottenWarnings says of a job which URLs its runs do not request any more, because they were taken out of
// its mirror.
func forgottenWarnings(a *App, name string) (lines []string) {
	st, ok, err := a.OpenState()
	if err != nil || !ok {
		return nil
	}
	defer st.Close()
	_ = view(st, name, func(s *store.Site) (err error) {
		lines, err = forgottenLines(s)
		return err
	})
	for i, line := range lines {
		lines[i] = "not requested: " + line
	}
	return lines
}
