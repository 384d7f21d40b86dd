// SPDX-License-Identifier: Apache-2.0

package demosite

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
	"sync"
)

// picture is a painted sky: a field of stars and a few glows, from a seed.
type picture struct {
	title string
	seed  uint32
	stars int
	glows []glow
}

// glow is a soft light: centre and radii in thousandths of the width, colour at the centre.
type glow struct {
	x, y, rx, ry int
	r, g, b      uint8
}

func pictures(version int) map[string]picture {
	pics := map[string]picture{
		"m31": {"Andromeda galaxy", 31, 420, []glow{
			{500, 310, 330, 70, 190, 170, 140}, {500, 310, 90, 45, 255, 235, 200},
		}},
		"m42": {"Orion nebula", 42, 300, []glow{
			{480, 300, 210, 170, 150, 60, 110}, {530, 270, 120, 80, 90, 120, 190}, {500, 300, 25, 25, 255, 250, 255},
		}},
		"pleiades": {"The Pleiades", 45, 180, []glow{
			{330, 240, 40, 40, 170, 195, 255}, {420, 330, 50, 50, 160, 190, 255}, {510, 250, 45, 45, 170, 195, 255},
			{560, 350, 40, 40, 165, 190, 255}, {640, 280, 35, 35, 170, 195, 255}, {470, 180, 30, 30, 175, 200, 255},
		}},
		"dome": {"Night over the dome", 7, 700, []glow{{500, 640, 600, 130, 200, 140, 60}}},
		"mist": {"Mist below the headland", 11, 120, []glow{
			{300, 560, 420, 120, 120, 130, 150}, {760, 590, 380, 100, 100, 115, 140},
		}},
	}
	if version >= 3 {
		pics["m51"] = picture{"Whirlpool galaxy", 51, 350, []glow{
			{450, 300, 130, 120, 130, 140, 190}, {450, 300, 30, 30, 255, 240, 210}, {590, 210, 50, 45, 220, 200, 160},
		}}
	}
	if version >= 6 {
		delete(pics, "mist")
	}
	return pics
}

// painting is a picture that is drawn when it is first requested. It is safe for concurrent use.
type painting struct {
	what    string // names the picture and its size: as good as its bytes
	picture picture
	w, h    int

	once sync.Once
	data []byte
}

func (p *painting) bytes() []byte {
	p.once.Do(func() { p.data = p.picture.draw(p.w, p.h) })
	return p.data
}

func sortedPictures(pics map[string]picture) []string { return slices.Sorted(maps.Keys(pics)) }

// draw paints the picture. Whole numbers only: the pixels are the same on every machine.
func (p picture) draw(w, h int) []byte {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := [3]int{10 + 8*y/h, 14 + 10*y/h, 28 + 18*y/h}
			for _, g := range p.glows {
				dx, dy := (x*1000/w-g.x)*1000/g.rx, (y*1000/w-g.y)*1000/g.ry
				if d := dx*dx + dy*dy; d < 1_000_000 {
					k := (1_000_000 - d) / 1000 // falls from 1000 to 0
					k = k * k / 1000
					c[0] += k * int(g.r) / 1000
					c[1] += k * int(g.g) / 1000
					c[2] += k * int(g.b) / 1000
				}
			}
			for i := range c {
				c[i] = min(255, c[i]&^3) // fewer colours compress well
			}
			img.SetRGBA(x, y, color.RGBA{uint8(c[0]), uint8(c[1]), uint8(c[2]), 255})
		}
	}
	rnd := p.seed*2654435761 + 1
	next := func(n int) int {
		rnd = rnd*1664525 + 1013904223 // Numerical Recipes' generator
		return int(rnd>>8) % n
	}
	for range p.stars {
		x, y, bright := next(1000)*w/1000, next(1000)*h/1000, 90+next(166)
		size := 1
		if bright > 235 {
			size = 1 + w/320
		}
		for i := range size * size {
			if at := image.Pt(x+i%size, y+i/size); at.In(img.Bounds()) {
				img.SetRGBA(at.X, at.Y, color.RGBA{uint8(bright), uint8(bright), uint8(min(255, bright+12)), 255})
			}
		}
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, img); err != nil {
		panic(fmt.Sprintf("demosite: draw picture: %v", err)) // writing to memory
	}
	return b.Bytes()
}
