// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"mirrord/app/env"
	"mirrord/archive/warc"
	"mirrord/internal/regular"
	"mirrord/replica/hosts"
)

// ReplicaOptions are the choices of FindReplicas, VerifyReplicas and CandidateHosts.
type ReplicaOptions struct {
	Paper   bool  // pairs of hosts by the rule of Bharat and Broder (1999) to the letter
	MinURLs int   // addresses that a host must have to be compared; 0 is the default
	Limit   int   // most lines of each table; 0 is no limit
	Memory  int64 // bytes that the comparison of pages holds before it uses files; only used by FindReplicas
}

// minOfPages is MinURLs where the addresses are those of pages that were mirrored.
const minOfPages = 10

// ofPages is stage I for addresses of pages that were mirrored.
func (o ReplicaOptions) ofPages() hosts.StageOne {
	return hosts.StageOne{Paper: o.Paper, MinURLs: cmp.Or(o.MinURLs, minOfPages)}
}

// Candidates are pairs of hosts whose addresses look like those of replicas. They have not been compared.
type Candidates struct {
	URLs int `json:"urls"`
	Bad  int `json:"bad_lines"`
	// of logs of proxies: requests that were no page views
	Skipped int              `json:"skipped_lines"`
	Hosts   int              `json:"hosts"`
	Found   int              `json:"candidates"` // of which Pairs has the best
	Pairs   []hosts.HostPair `json:"pairs"`
}

// CandidateHosts finds candidate pairs of hosts from lists of addresses: files, and stdin for "-".
func CandidateHosts(
	ctx context.Context, a *env.App, lists []string, stdin io.Reader, o ReplicaOptions,
) (*Candidates, error) {
	v := hosts.NewInventory(hosts.StageOne{Paper: o.Paper, MinURLs: o.MinURLs})
	count, err := readURLLists(ctx, a, lists, stdin, v)
	if err != nil {
		return nil, err
	}
	pairs := v.Pairs()
	return &Candidates{
		URLs:    count.URLs,
		Bad:     count.Bad,
		Skipped: count.Skipped,
		Hosts:   v.Hosts(),
		Found:   len(pairs),
		Pairs:   pairs[:shown(len(pairs), o.Limit)],
	}, nil
}

// shown is how many of n lines are shown.
func shown(n, limit int) int {
	if limit == 0 {
		return n
	}
	return min(n, limit)
}

// maxBadShown bounds the lines that are said to be bad.
const maxBadShown = 10

// readURLLists adds the addresses of lists to an inventory.
func readURLLists(
	ctx context.Context, a *env.App, lists []string, stdin io.Reader, v *hosts.Inventory,
) (all hosts.ListCount, err error) {
	for _, name := range lists {
		count, err := readURLList(ctx, a, name, stdin, v)
		if err != nil {
			return all, fmt.Errorf("%s: %w", name, err)
		}
		all.URLs, all.Bad, all.Skipped = all.URLs+count.URLs, all.Bad+count.Bad, all.Skipped+count.Skipped
	}
	return all, nil
}

func readURLList(
	ctx context.Context, a *env.App, name string, in io.Reader, v *hosts.Inventory,
) (hosts.ListCount, error) {
	if name != "-" {
		f, err := regular.Open(name)
		if err != nil {
			return hosts.ListCount{}, err
		}
		defer f.Close()
		in = f
	}
	lines := regular.UntilReader(ctx, in)
	defer lines.Close()
	n, bad := 0, 0
	add := func(url []byte) error {
		if n++; n%100_000 == 0 {
			a.Progress(fmt.Sprintf("%d addresses of %d hosts", n, v.Hosts()))
		}
		return v.AddURL(url)
	}
	refuse := func(line int, text string, err error) error {
		if bad++; bad <= maxBadShown {
			a.Warning(fmt.Sprintf("%s:%d: %v: %.80q", name, line, err, text))
		} else if bad == maxBadShown+1 {
			a.Warning(name + ": more bad lines are only counted")
		}
		return nil
	}
	list := bufio.NewReaderSize(lines, listHead)
	if head, _ := list.Peek(listHead); !warc.IsWARC(bytes.NewReader(head)) {
		return hosts.ReadURLs(list, add, refuse)
	}
	count, err := readTargets(list, add, refuse)
	return count, errors.Join(err, ctx.Err())
}

// listHead is how many bytes of a list tell whether it is a WARC file: a block of zstd, and more.
const listHead = 256 << 10

// readTargets reads the targets of the responses, resources and revisits of a WARC file. What comes behind
// damage is left out.
func readTargets(
	from io.Reader, add func(url []byte) error, refuse func(int, string, error) error,
) (count hosts.ListCount, err error) {
	r, err := warc.NewReader(from)
	if err != nil {
		return count, err
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return count, nil
		}
		count.Lines++
		if err != nil {
			count.Bad++
			return count, refuse(count.Lines, "", err)
		}
		switch rec.Type() {
		case "response", "resource", "revisit":
			if err := add([]byte(rec.URL())); err == nil {
				count.URLs++
				continue
			}
			count.Bad++
			if err := refuse(count.Lines, rec.URL(), hosts.ErrNotURL); err != nil {
				return count, err
			}
		}
	}
}
