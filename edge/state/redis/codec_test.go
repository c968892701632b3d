package redis

import (
	"testing"
	"time"
)

// A time that no number of nanoseconds can have is kept as the last one that there is, not as one that is past.
func TestTimesBeyondNanoseconds(t *testing.T) {
	for _, c := range []struct{ put, want time.Time }{
		{time.Time{}, time.Time{}},
		{time.Unix(1_900_000_000, 1), time.Unix(1_900_000_000, 1)},
		{time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(0, 1<<63-1)},
		{time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(0, 1<<63-1)},
	} {
		p := packer{format}
		p.time(c.put)
		u := open(string(p))
		if got := u.time(); !got.Equal(c.want) || u.err() != nil {
			t.Errorf("%v comes back as %v, %v", c.put, got, u.err())
		}
	}
}
