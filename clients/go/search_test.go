package adjourn

import (
	"reflect"
	"testing"
	"time"
)

func TestASilentAddressLeavesTimeForTheOthers(t *testing.T) {
	patience := func(s *search, rounds int) (all []time.Duration) {
		for i := 0; i < rounds; i++ {
			s.begin("", nil)
			s.next()
			all = append(all, s.patience(4*time.Second))
		}
		return all
	}
	several := newSearch([]string{"a:1", "b:1"})
	if got := patience(several, 4); !reflect.DeepEqual(got, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second}) {
		t.Errorf("%v", got)
	}
	several.found()
	if got := patience(several, 1); got[0] != time.Second {
		t.Errorf("%v after a success", got)
	}
	if got := patience(newSearch([]string{"a:1"}), 1); got[0] != 4*time.Second {
		t.Errorf("%v for the only address", got)
	}
}

func TestWhoWasSilentIsTriedLastUntilItAnswers(t *testing.T) {
	s := newSearch([]string{"a:1", "b:1"})
	rest := func() (all []string) {
		for address, some := s.next(); some; address, some = s.next() {
			all = append(all, address)
		}
		return all
	}
	s.wasSilent("a:1")
	s.begin("a:1", []string{"c:1", "0.0.0.0:1"})
	if first, _ := s.next(); first != "b:1" {
		t.Errorf("%s comes first", first)
	}
	s.redirect("a:1")
	if got := rest(); !reflect.DeepEqual(got, []string{"c:1", "a:1"}) {
		t.Errorf("%v: a stale hint brings it forward", got)
	}
	s.answered("a:1")
	s.begin("a:1", nil)
	if got := rest(); !reflect.DeepEqual(got, []string{"a:1", "b:1"}) {
		t.Errorf("%v", got)
	}
}
