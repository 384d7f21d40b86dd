// SPDX-License-Identifier: Apache-2.0

package kiwix

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	_ "image/gif" // formats in which sites send their icons
	_ "image/jpeg"
	"image/png"
	"path"
	"strings"

	"github.com/zeebo/xxh3"

	"mirrord/phm"
)

const (
	iconSide = 48
	maxIcon  = 1 << 20 // bytes
	maxSide  = 1024    // pixels
)

// iconFinder finds the icon of a site among its files.
type iconFinder struct {
	host string
	path string // of the best one so far, "" for none
	rank int
	img  image.Image
}

// look considers a file by its name: the nearer to the root the better.
func (i *iconFinder) look(f *phm.File) {
	rank := 0
	switch base := strings.ToLower(path.Base(f.Path)); {
	case f.Size > maxIcon, f.Size == 0, strings.HasPrefix(f.Path, "@"):
		return
	case strings.HasPrefix(base, "apple-touch-icon"):
		rank = 3
	case strings.HasPrefix(base, "favicon") && !strings.HasSuffix(base, ".svg"):
		rank = 2
	case strings.HasPrefix(base, "logo") && strings.HasPrefix(f.Type, "image/") && f.Type != "image/svg+xml":
		rank = 1
	default:
		return
	}
	if rank = 10*rank - min(strings.Count(f.Path, "/"), 9); i.path == "" || rank > i.rank {
		i.path, i.rank = f.Path, rank
	}
}

// read returns the picture that a file is, if it is the one that was chosen; nil: it is not, or no picture.
// It is safe for concurrent use once all files were looked at.
func (i *iconFinder) read(f *phm.File, body []byte) image.Image {
	if f.Path != i.path {
		return nil
	}
	body = inIcon(body)
	c, _, err := image.DecodeConfig(bytes.NewReader(body))
	if err != nil || c.Width > maxSide || c.Height > maxSide || c.Width < 1 || c.Height < 1 {
		return nil
	}
	img, _, err := image.Decode(bytes.NewReader(body))
	if err != nil {
		return nil
	}
	return img
}

// inIcon returns the largest PNG in a file of Windows icons, else the bytes themselves.
func inIcon(b []byte) []byte {
	if !bytes.HasPrefix(b, []byte{0, 0, 1, 0}) || len(b) < 6 {
		return b
	}
	best := b
	for k := range int(binary.LittleEndian.Uint16(b[4:])) {
		at := 6 + 16*k
		if at+16 > len(b) {
			break
		}
		n, from := int64(binary.LittleEndian.Uint32(b[at+8:])), int64(binary.LittleEndian.Uint32(b[at+12:]))
		if from+n > int64(len(b)) || !bytes.HasPrefix(b[from:], []byte("\x89PNG")) {
			continue
		}
		if one := b[from : from+n]; len(best) == len(b) || len(one) > len(best) {
			best = one
		}
	}
	return best
}

// picture is the icon as a PNG of 48 by 48 pixels; a pattern by the host's name when the site has none.
func (i *iconFinder) picture() []byte {
	out := image.NewNRGBA(image.Rect(0, 0, iconSide, iconSide))
	if i.img != nil {
		scale(out, i.img)
	} else {
		pattern(out, xxh3.HashString(i.host))
	}
	var b bytes.Buffer
	if err := png.Encode(&b, out); err != nil {
		return nil // a buffer takes all, and the picture is a small one
	}
	return b.Bytes()
}

// scale fills dst with the average colours of src.
func scale(dst *image.NRGBA, src image.Image) {
	from, to := src.Bounds(), dst.Bounds()
	for y := range to.Dy() {
		y0 := from.Min.Y + y*from.Dy()/to.Dy()
		y1 := max(from.Min.Y+(y+1)*from.Dy()/to.Dy(), y0+1)
		for x := range to.Dx() {
			x0 := from.Min.X + x*from.Dx()/to.Dx()
			x1 := max(from.Min.X+(x+1)*from.Dx()/to.Dx(), x0+1)
			var r, g, b, a, n uint32
			for yy := y0; yy < y1; yy++ {
				for xx := x0; xx < x1; xx++ {
					pr, pg, pb, pa := src.At(xx, yy).RGBA()
					r, g, b, a, n = r+pr>>8, g+pg>>8, b+pb>>8, a+pa>>8, n+1
				}
			}
			dst.Set(x, y, color.RGBA{
				R: uint8(r / n),
				G: uint8(g / n),
				B: uint8(b / n),
				A: uint8(a / n),
			})
		}
	}
}

// pattern draws a symmetric pattern of six by six squares.
func pattern(dst *image.NRGBA, seed uint64) {
	ink := color.NRGBA{
		R: uint8(seed)/2 + 40,
		G: uint8(seed>>8)/2 + 40,
		B: uint8(seed>>16)/2 + 40,
		A: 255,
	}
	for y := range iconSide {
		for x := range iconSide {
			column, row := min(x, iconSide-1-x)/8, y/8
			c := color.NRGBA{
				R: 240,
				G: 240,
				B: 240,
				A: 255,
			}
			if seed>>(24+3*row+column)&1 != 0 {
				c = ink
			}
			dst.SetNRGBA(x, y, c)
		}
	}
}
