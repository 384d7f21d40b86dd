// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/replica/text"
	"mirrord/serve"
	"mirrord/serve/find"
)

// TextsOfFiles looks for pages in mirrors in files, in an index of its own among temporary files, which is
// made meanwhile. done ends that and removes it.
func TextsOfFiles(
	ctx context.Context, a *env.App, sites *serve.Files,
) (_ *serve.TextLookup, done func() error, err error) {
	dir, remove, err := files.AsideDir("")
	if err != nil {
		return nil, nil, err
	}
	x, err := find.Open(dir)
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := indexFiles(ctx, x, sites); err != nil && ctx.Err() == nil {
			a.Log.Warn("the search lacks texts", "err", err)
		}
	}()
	done = func() error {
		cancel()
		<-ended
		return errors.Join(x.Close(), remove())
	}
	return &serve.TextLookup{
		Made: func() bool { return true },
		Find: func(ctx context.Context, q find.TextSearch) (*find.SearchResults, error) {
			return searchServed(ctx, dir, q, sites.Names, func(string) bool { return true })
		},
	}, done, nil
}

// indexFiles makes the index of all mirrors.
func indexFiles(ctx context.Context, x *find.Index, sites *serve.Files) error {
	names, err := sites.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		site, err := sites.Site(name)
		if err != nil {
			return err
		}
		versions, err := site.Versions()
		if err != nil {
			return err
		}
		if err := indexFile(ctx, x, sites, name, versions); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// indexFile makes the index of a mirror, in transactions of some pages.
func indexFile(
	ctx context.Context, x *find.Index, sites *serve.Files, name string, versions []serve.Version,
) (err error) {
	b, err := x.Begin(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Rollback()) }()
	var dated []find.DatedVersion
	for _, v := range versions {
		dated = append(dated, find.DatedVersion{Number: v.Number, At: v.Time})
	}
	if err := b.Keep(dated); err != nil {
		return err
	}
	if err := sites.Pages(name, func(p *serve.FilePage) error {
		if n, bytes := b.Added(); n >= findTexts || bytes >= findBytes {
			if err := b.Commit(); err != nil {
				return err
			}
			if b, err = x.Begin(ctx, name); err != nil {
				return err
			}
		}
		read := func(i int) (find.PageText, bool, error) { return pageText(p, i) }
		return errors.Join(ctx.Err(), b.Settle(p.URL.String(), p.Intervals, read))
	}); err != nil {
		return err
	}
	last := versions[len(versions)-1]
	return errors.Join(b.Done(find.Stand{Version: last.Number, At: last.Time}), b.Commit())
}

// pageText is what a page says in an interval. One that cannot be read says nothing: verify reports it.
func pageText(p *serve.FilePage, interval int) (t find.PageText, ok bool, err error) {
	r, body, ok, err := p.Read(interval, maxFindPage)
	if err != nil || !ok || !text.IsText(body) {
		return t, false, nil
	}
	t.Path = r.Path
	t.Title, t.Said = text.Page(body, r.Charset, strings.Contains(r.MIME, "html"))
	return t, t.Said != "" || t.Title != "", nil
}
