// SPDX-License-Identifier: Apache-2.0

package demosite

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"sync"
)

// picture is a painted sky: a field of stars and a few glows, from a seed.
type picture struct {
	Title string
	Seed  uint32
	Stars int
	Glows []glow
}

// glow is a soft light: centre and radii in thousandths of the width, colour at the centre.
type glow struct {
	X, Y, RX, RY int
	R, G, B      int
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

// draw paints the picture. Whole numbers only: the pixels are the same on every machine.
func (p picture) draw(w, h int) []byte {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := [3]int{10 + 8*y/h, 14 + 10*y/h, 28 + 18*y/h}
			for _, g := range p.Glows {
				dx, dy := (x*1000/w-g.X)*1000/g.RX, (y*1000/w-g.Y)*1000/g.RY
				if d := dx*dx + dy*dy; d < 1_000_000 {
					k := (1_000_000 - d) / 1000 // falls from 1000 to 0
					k = k * k / 1000
					c[0] += k * g.R / 1000
					c[1] += k * g.G / 1000
					c[2] += k * g.B / 1000
				}
			}
			for i := range c {
				c[i] = min(255, c[i]&^3) // fewer colours compress well
			}
			img.SetRGBA(x, y, color.RGBA{uint8(c[0]), uint8(c[1]), uint8(c[2]), 255})
		}
	}
	rnd := p.Seed*2654435761 + 1
	next := func(n int) int {
		rnd = rnd*1664525 + 1013904223 // Numerical Recipes' generator
		return int(rnd>>8) % n
	}
	for range p.Stars {
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
