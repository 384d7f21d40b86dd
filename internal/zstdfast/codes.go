// SPDX-License-Identifier: Apache-2.0

package zstdfast

// The three kinds of codes of a sequence, in the order of their tables (RFC 8878 3.1.1.3.2.1).
const (
	literalCodes = iota
	offsetCodes
	matchCodes
	coders
)

// Where a table comes from (RFC 8878 3.1.1.3.2.1).
const (
	modePredefined = 0
	modeRLE        = 1
	modeCompressed = 2
	modeRepeat     = 3
)

// A block has a table of its own only when that saves more than one of so many bits: to build one takes
// longer than what that is worth.
const worthTable = 16

// The predefined tables (RFC 8878 3.1.1.3.2.2): shares of the states by code, with - for -1.
const (
	literalStates = "4322222222222111" + "22222222" + "23211111" + "----"
	offsetStates  = "1111112221111111" + "11111111" + "-----"
	matchStates   = "1432222221111111" + "11111111" + "11111111" + "11111111" + "111111-------"
)

// literalExtra returns how many bits follow a code of a number of literals (RFC 8878 3.1.1.3.2.1.1, table).
func literalExtra() (extra [maxSymbols]uint8) {
	copy(extra[16:], []uint8{1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	return extra
}

// matchExtra returns how many bits follow a code of the length of a match (RFC 8878 3.1.1.3.2.1.1, table).
func matchExtra() (extra [maxSymbols]uint8) {
	copy(extra[32:], []uint8{1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	return extra
}

// offsetExtra returns how many bits follow a code of an offset: as many as the code says.
func offsetExtra() (extra [maxSymbols]uint8) {
	for i := range extra[:32] {
		extra[i] = uint8(i)
	}
	return extra
}

// fillCodes sets the codes of the values from 0 on, of which each code has 1<<extra.
func fillCodes(codes []uint8, extra [maxSymbols]uint8) {
	for v, code := 0, 0; v < len(codes); code++ {
		for range 1 << extra[code] {
			if v < len(codes) {
				codes[v] = uint8(code)
			}
			v++
		}
	}
}

// coder finds the tables for one kind of codes.
type coder struct {
	maxLog int // log2 of the states of a table at most (RFC 8878 3.1.1.3.2.1)
	extra  [maxSymbols]uint8
	fixed  states // the predefined table

	last   *states // what a block may use again: one of tables, or nil
	tables [2]states

	// of the block
	counts [maxSymbols]uint32
	mode   uint8
	use    *states
}

func (c *coder) init(maxLog int, extra [maxSymbols]uint8, fixedLog int, fixed string) {
	c.maxLog, c.extra = maxLog, extra
	c.fixed.log, c.fixed.used = fixedLog, len(fixed)
	for i, r := range []byte(fixed) {
		c.fixed.share[i] = -1
		if r != '-' {
			c.fixed.share[i] = int16(r - '0')
		}
	}
	c.fixed.build(&c.extra)
}

// choose sets mode and use to the shortest encoding for counts, of which total is the sum, and appends
// what the decoder needs for it.
func (c *coder) choose(dst []byte, total int) []byte {
	used, kinds := 0, 0
	for i, n := range c.counts {
		if n > 0 {
			used = i + 1
			kinds++
		}
	}
	counts := c.counts[:used]
	spare := &c.tables[0]
	if c.last == spare {
		spare = &c.tables[1]
	}
	if kinds == 1 {
		spare.single(used-1, c.extra[used-1])
		c.mode, c.use, c.last = modeRLE, spare, nil
		return append(dst, byte(used-1))
	}
	c.mode, c.use = modePredefined, &c.fixed
	best := c.fixed.cost(counts)
	if c.last != nil {
		if n := c.last.cost(counts); n < best {
			c.mode, c.use, best = modeRepeat, c.last, n
		}
	}
	at := len(dst)
	spare.distribute(counts, total, c.maxLog)
	dst = spare.appendShares(dst)
	if spare.cost(counts)+8*(len(dst)-at) < best-best/worthTable {
		spare.build(&c.extra)
		c.mode, c.use, c.last = modeCompressed, spare, spare
		return dst
	}
	if c.mode == modePredefined {
		c.last = nil
	}
	return dst[:at]
}
