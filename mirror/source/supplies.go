// SPDX-License-Identifier: Apache-2.0

package source

import (
	"log/slog"
	"time"

	"mirrord/mirror/urls"
	"mirrord/site"
)

// Supplies are what the sources of a run have in common.
type Supplies struct {
	Facts    urls.Facts // of the site
	Bodies   *BodyOptions
	NewAsker func() *Asker
	Covers   func(site.URL) bool // whether a URL is in the scope of the job
	Product  string              // our name in robots.txt; "": robots rules are not obeyed
	MaxBody  int64               // bytes; 0 is no limit
	Now      func() time.Time
	Log      *slog.Logger
}
