package adjourn

import (
	"sort"
	"time"
)

// search knows which address to try next. It proceeds in rounds; a round tries each address once: the one that a
// server named as leader, the configured ones, the members.
type search struct {
	configured []string
	ahead      []string
	tried      map[string]bool
	silent     map[string]bool
	rounds     int
}

func newSearch(configured []string) *search {
	return &search{configured: configured, silent: map[string]bool{}}
}

// begin starts a round. Addresses that were silent when they were tried last come last.
func (s *search) begin(hint string, members []string) {
	s.rounds++
	s.tried = map[string]bool{}
	s.ahead = s.ahead[:0]
	known := map[string]bool{}
	add := func(address string) {
		if !known[address] {
			known[address] = true
			s.ahead = append(s.ahead, address)
		}
	}
	if isSomewhere(hint) {
		add(hint)
	}
	for _, address := range s.configured {
		add(address)
	}
	for _, address := range members {
		if isSomewhere(address) {
			add(address)
		}
	}
	sort.SliceStable(s.ahead, func(i, j int) bool { return !s.silent[s.ahead[i]] && s.silent[s.ahead[j]] })
}

func (s *search) next() (string, bool) {
	if len(s.ahead) == 0 {
		return "", false
	}
	address := s.ahead[0]
	s.ahead = s.ahead[1:]
	s.tried[address] = true
	return address, true
}

// patience is how long to wait for the address that came last. While others are left it is not all of the limit: a
// server that is stuck must not hide one that leads.
func (s *search) patience(limit time.Duration) time.Duration {
	if len(s.tried)+len(s.ahead) > 1 {
		switch s.rounds {
		case 1:
			return limit / 4
		case 2:
			return limit / 2
		}
	}
	return limit
}

// redirect makes the leader that a server named the next address, unless it was tried in this round.
func (s *search) redirect(leader string) {
	if !isSomewhere(leader) || s.tried[leader] {
		return
	}
	rest := make([]string, 0, len(s.ahead)+1)
	for _, address := range s.ahead {
		if address != leader {
			rest = append(rest, address)
		}
	}
	if s.silent[leader] {
		s.ahead = append(rest, leader)
	} else {
		s.ahead = append([]string{leader}, rest...)
	}
}

func (s *search) answered(address string) { delete(s.silent, address) }
func (s *search) wasSilent(address string) {
	// Addresses come from servers: forget the old ones rather than grow.
	if len(s.silent) > 64 {
		s.silent = map[string]bool{}
	}
	s.silent[address] = true
}
func (s *search) found() { s.rounds = 0 }
