// SPDX-License-Identifier: Apache-2.0

package experiments

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"mirrord/evolution/policy"
	"mirrord/near"
	"mirrord/replay"
	"mirrord/testing/lab/thresholds"
)

// Curve is a policy at several settings.
type Curve struct {
	Policy policy.Name
	Bytes  bool // it is drawn by the bytes that are saved, not by the requests
	Points []Point
}

// byMegabyte is the curve of adaptive at prices of a megabyte.
const byMegabyte policy.Name = "megabyte"

// Point is a policy at one setting, as the mean over the sites.
type Point struct {
	Label string
	Ring  bool // drawn hollow: near with expiring skips
	Total replay.Total
}

// nearExpire is how often the drawings ask the skipped directories when skips expire: in every 8th step, as
// the figures of near-definitions do.
const nearExpire = 8

// TradeOff replays histories under adaptive at several prices, near at its settings, and the baselines. o
// gives the training and, for the requests, all else that the policies share; its policy and thresholds are
// not looked at. done, when not nil, is called before each setting.
func TradeOff(hs []*replay.History, o replay.Options, done func(setting string) error) ([]Curve, error) {
	if o.Train == 0 {
		o.Train = replay.DefaultTrain
	}
	o.After = nil
	run := func(c *Curve, p Point, o replay.Options) error {
		if done != nil {
			if err := done(string(o.Policy) + " " + p.Label); err != nil {
				return err
			}
		}
		var rs []*replay.Result
		for _, h := range hs {
			r, err := replay.Run(h, o)
			if err != nil {
				return fmt.Errorf("%s: %w", h.Site, err)
			}
			rs = append(rs, r)
		}
		p.Total = replay.Mean(rs)
		c.Points = append(c.Points, p)
		return nil
	}
	var out []Curve

	robin := Curve{Policy: RoundRobin}
	for _, budget := range []float64{0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1} {
		turns := replay.Options{Policy: RoundRobin, Train: o.Train, Baseline: InTurn(budget)}
		if err := run(&robin, Point{}, turns); err != nil {
			return nil, err
		}
	}
	one := 1.0
	full := Curve{Policy: policy.Full, Points: []Point{{Total: replay.Total{Req: 1, CR: &one, CRMicro: &one}}}}
	never := Curve{Policy: replay.Never}
	if err := run(&never, Point{}, replay.Options{Policy: replay.Never, Train: o.Train}); err != nil {
		return nil, err
	}
	rules := Curve{Policy: policy.Near}
	for _, s := range []struct {
		name string
		o    near.Options
	}{{"strict", thresholds.Strict()}, {"third", near.Third()}, {"best", thresholds.Best()}} {
		for _, every := range []int{0, nearExpire} {
			p := Point{Label: s.name, Ring: every > 0}
			if p.Ring {
				p.Label = ""
			}
			if err := run(&rules, p, replay.Options{
				Policy: policy.Near,
				Train:  o.Train,
				Near:   s.o,
				Expire: every,
			}); err != nil {
				return nil, err
			}
		}
	}
	adaptive := Curve{Policy: policy.Adaptive}
	for _, price := range replay.Prices() {
		if err := run(&adaptive, Point{Label: fmt.Sprint(price)}, replay.Options{
			Policy:  policy.Adaptive,
			Train:   o.Train,
			Price:   price,
			MaxSkip: o.MaxSkip,
		}); err != nil {
			return nil, err
		}
	}
	return append(out, robin, full, never, rules, adaptive), nil
}

// PriceCurves are what prices come to, for Plot, beside full syncs: the requests that prices of a request
// save, and the bytes that these save and prices of a megabyte.
func PriceCurves(priced, megabytes []replay.Priced) []Curve {
	one := 1.0
	c, m := Curve{Policy: policy.Adaptive}, Curve{Policy: byMegabyte, Bytes: true}
	for i := range priced {
		c.Points = append(c.Points, Point{Label: fmt.Sprint(priced[i].Price), Total: priced[i].Total})
	}
	for i := range megabytes {
		m.Points = append(m.Points, Point{Label: fmt.Sprint(megabytes[i].PriceMB), Total: megabytes[i].Total})
	}
	full := Curve{
		Policy: policy.Full,
		Points: []Point{{Total: replay.Total{
			Req:     1,
			Moved:   1,
			CR:      &one,
			CRMicro: &one,
		}}},
	}
	bytes, fullBytes := c, full
	bytes.Bytes, fullBytes.Bytes = true, true
	return []Curve{full, c, fullBytes, bytes, m}
}

// panel is one diagram: savings against a measure.
type panel struct {
	x, y, w, h float64
	head       string
	bytes      bool // the savings are bytes
	// in the panel's height from 0, at the bottom, to 1; outside is not drawn
	value func(t *replay.Total) float64
	ticks []tick
}

type tick struct {
	at    float64
	label string
}

const (
	drawWidth   = 960
	panelHeight = 250.0
)

// crPanel runs from a round value below what near and adaptive reach up to 1.
func crPanel(curves []Curve) panel {
	least := 0.8
	for _, c := range curves {
		if c.Policy == RoundRobin {
			continue
		}
		for _, p := range c.Points {
			if p.Total.CR != nil {
				least = min(least, math.Floor(*p.Total.CR*10)/10)
			}
		}
	}
	d := panel{
		x:    60,
		y:    70,
		w:    390,
		h:    panelHeight,
		head: "CR: share of a version's changes that were found",
	}
	d.value = func(t *replay.Total) float64 {
		if t.CR == nil {
			return -1
		}
		return (*t.CR - least) / (1 - least)
	}
	step := 0.1
	if least >= 0.75 {
		step = 0.05
	}
	for v := 1.0; v >= least-1e-9; v -= step {
		d.ticks = append(d.ticks, tick{(v - least) / (1 - least), fmt.Sprintf("%.2g", v)})
	}
	return d
}

// stalePanel is logarithmic from 0.01 % to 100 %; smaller values are drawn at the bottom.
func stalePanel() panel {
	d := panel{
		x:    540,
		y:    70,
		w:    390,
		h:    panelHeight,
		head: "stale: share of pages that are wrong (logarithmic)",
	}
	d.value = func(t *replay.Total) float64 { return max(0, 1+math.Log10(max(t.Stale, 1e-9))/4) }
	for i, label := range []string{"≤ 0.01 %", "0.1 %", "1 %", "10 %", "100 %"} {
		d.ticks = append(d.ticks, tick{float64(i) / 4, label})
	}
	return d
}

func (p *panel) at(t *replay.Total) (x, y float64, ok bool) {
	v := p.value(t)
	asked := t.Req
	if p.bytes {
		asked = t.Moved
	}
	return p.x + p.w*min(1, max(0, 1-asked)), p.y + p.h*(1-v), v >= 0 && v <= 1
}

func (s *svg) panel(p panel, curves []Curve) {
	s.text("head", p.x, p.y-14, p.head)
	for _, t := range p.ticks {
		y := p.y + p.h*(1-t.at)
		s.line("grid", p.x, y, p.x+p.w, y)
		s.text("small end", p.x-6, y+3.5, t.label)
	}
	for i := range 6 {
		x := p.x + p.w*float64(i)/5
		s.line("grid", x, p.y, x, p.y+p.h)
		s.text("small mid", x, p.y+p.h+15, fmt.Sprintf("%d %%", 20*i))
	}
	what := "requests saved"
	if p.bytes {
		what = "bytes saved"
	}
	s.text("small mid", p.x+p.w/2, p.y+p.h+30, what)
	for _, c := range curves {
		s.curve(&p, &c)
	}
}

func (s *svg) curve(p *panel, c *Curve) {
	class, lined := "other", true
	switch c.Policy {
	case policy.Adaptive:
		class = "adaptive"
	case policy.Near:
		class, lined = "near", false
	case byMegabyte:
		class = "near"
	case policy.Full, replay.Never:
		lined = false
	}
	var line, dots, rings strings.Builder
	pen := "M"
	type label struct {
		x, y float64
		text string
	}
	var labels []label
	for i := range c.Points {
		pt := &c.Points[i]
		x, y, ok := p.at(&pt.Total)
		if !ok {
			pen = "M"
			continue
		}
		if lined {
			fmt.Fprintf(&line, "%s%s %s", pen, num(x), num(y))
			pen = "L"
		}
		switch {
		case c.Policy == RoundRobin:
		case c.Policy == policy.Near && pt.Ring:
			box(&rings, x-3.5, y-3.5, 7, 7)
		case c.Policy == policy.Near:
			box(&dots, x-4, y-4, 8, 8)
		case !lined:
			diamond(&dots, x, y, 5)
		default:
			disc(&dots, x, y, 3.5)
		}
		if pt.Label != "" {
			labels = append(labels, label{x, y, pt.Label})
		}
	}
	if lined {
		s.path(class+" line", line.String())
	}
	s.path(class+" ring", rings.String())
	s.path(class+" dot", dots.String())
	// Labels do not lie on one another; the usual price has the first choice.
	slices.SortStableFunc(labels, func(a, b label) int {
		usual := fmt.Sprint(policy.DefaultPrice)
		return cmp.Compare(boolInt(b.text == usual), boolInt(a.text == usual))
	})
	for i, l := range labels {
		l.x, l.y = min(max(l.x, p.x+14), p.x+p.w-14), l.y+16
		if l.y > p.y+p.h {
			l.y -= 24
		}
		labels[i] = l
		if !slices.ContainsFunc(labels[:i], func(o label) bool {
			return o.text != "" && math.Abs(o.x-l.x) < 36 && math.Abs(o.y-l.y) < 11
		}) {
			s.text("small mid "+class, l.x, l.y, l.text)
		} else {
			labels[i].text = ""
		}
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// legendBytes explains the marks of the diagrams by bytes.
func (s *svg) legendBytes(x, y float64) {
	s.line("adaptive line", x, y-4, x+26, y-4)
	s.text("", x+34, y, "adaptive, at prices of a request")
	s.line("near line", x+280, y-4, x+306, y-4)
	s.text("", x+314, y, "at the price of the job, and prices of a megabyte")
}

// legend explains the marks of the diagrams.
func (s *svg) legend(x, y float64) {
	var b strings.Builder
	disc(&b, x+4, y-4, 3.5)
	s.path("adaptive dot", b.String())
	s.text("", x+14, y, "adaptive, at prices")
	b.Reset()
	box(&b, x+140, y-8, 8, 8)
	s.path("near dot", b.String())
	s.text("", x+154, y, "near, at its settings")
	b.Reset()
	box(&b, x+284, y-7.5, 7, 7)
	s.path("near ring", b.String())
	s.text("", x+298, y, fmt.Sprintf("the same, skips asked every %dth time", nearExpire))
	b.Reset()
	diamond(&b, x+519, y-4, 5)
	s.path("other dot", b.String())
	s.text("", x+530, y, "full; skipping what never changed")
	s.line("other line", x+736, y-4, x+762, y-4)
	s.text("", x+770, y, "directories in turn")
}
