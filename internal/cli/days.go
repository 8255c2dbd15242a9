package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// days is a flag for a long time: whole days such as 30d, or a duration.
type days time.Duration

// String, Set and Type make days a flag.
func (d *days) String() string {
	if v := time.Duration(*d); v%day != 0 || v == 0 {
		return v.String()
	}
	return strconv.FormatInt(int64(time.Duration(*d)/day), 10) + "d"
}
func (d *days) Type() string { return "time" }
func (d *days) Set(text string) error {
	if number, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(number, 10, 16); err == nil {
			*d = days(time.Duration(n) * day)
			return nil
		}
	}
	v, err := time.ParseDuration(text)
	if err != nil || v < 0 {
		return fmt.Errorf("want days such as 30d, or a duration such as 12h")
	}
	*d = days(v)
	return nil
}
