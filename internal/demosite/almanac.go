// SPDX-License-Identifier: Apache-2.0

package demosite

import (
	"fmt"
	"time"
)

// sine returns 10000 sin(deg) by Bhaskara I's formula (about the year 600): whole numbers, so that every
// machine agrees.
func sine(deg int) int {
	deg = ((deg % 360) + 360) % 360
	sign := 1
	if deg >= 180 {
		deg, sign = deg-180, -1
	}
	p := deg * (180 - deg)
	return sign * 10000 * 4 * p / (40500 - p)
}

// sunTimes returns rising and setting in minutes after midnight, good to some minutes: it is a fictional
// almanac.
func sunTimes(d time.Time) (rise, set int) {
	year := (d.YearDay()*360 + 182) / 365
	half := 6*60 + 122*sine(year-80)/10000 // half the day's length; equinox at day 80
	noon := 12*60 + 17 - 10*sine(2*year-162)/10000 + 8*sine(year)/10000
	return noon - half, noon + half
}

// moonAge returns the moon's age in tenths of a day: new on 2000-01-06 18:14, synodic month 29.530589 days.
func moonAge(d time.Time) int {
	const month = 29_530_589 // millionths of a day
	since := d.Unix() - time.Date(2000, 1, 6, 18, 14, 0, 0, time.UTC).Unix()
	age := (since*1_000_000/86400%month + month) % month
	return int(age / 100_000)
}

// night is a row of the almanac.
type night struct{ time.Time }

// nights are those of a month.
func nights(month time.Time) (all []night) {
	for d := month; d.Month() == month.Month(); d = d.AddDate(0, 0, 1) {
		all = append(all, night{d})
	}
	return all
}

// Rise and Set are those of the sun.
func (n night) Rise() string {
	rise, _ := sunTimes(n.Time)
	return clock(rise)
}

func (n night) Set() string {
	_, set := sunTimes(n.Time)
	return clock(set)
}

// Moon is its age in days.
func (n night) Moon() string { return fmt.Sprintf("%d.%d", moonAge(n.Time)/10, moonAge(n.Time)%10) }

func clock(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }
