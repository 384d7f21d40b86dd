// SPDX-License-Identifier: Apache-2.0

package care

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"mirrord/app/env"
	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/store/upkeep"
)

// Sample is a share of the stored bodies: the same seed picks the same URLs.
type Sample struct {
	Share float64 `json:"share"` // above 0, at most 1
	Seed  uint64  `json:"seed"`
	Read  int64   `json:"read"` // bytes of bodies and published files
}

// ParseShare reads "5%".
func ParseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if bad := err != nil || !percent; bad || !(v > 0 && v <= 100) {
		return 0, fmt.Errorf("%q is no share: write a number above 0 and at most 100 with %%, such as 5%%", text)
	}
	return v / 100, nil
}

// picks reports whether a URL belongs to the share.
func (x *Sample) picks(url string) bool {
	return x.Share >= 1 || float64(xxh3.HashStringSeed(url, x.Seed)) < x.Share*math.MaxUint64
}

// VerifySample is Verify for a share of the stored bodies and published files of a job, with its whole
// database and a look at each published file. It follows no links.
func VerifySample(ctx context.Context, a *env.App, name string, x Sample) (*Verified, error) {
	return verifySite(ctx, a, name,
		func(ctx context.Context, s *store.Site, out *Verified, found func(upkeep.Problem)) error {
			o := report.SampleOptions{Sampling: upkeep.Sampling{Pick: x.picks}, Look: true}
			stats, err := report.Sample(ctx, s, o, found)
			read := x
			read.Read = stats.Bytes + stats.Size
			out.Sample, out.Kept, out.Files, out.Bytes = &read, &stats.Stats, stats.Files, stats.Size
			return err
		})
}
