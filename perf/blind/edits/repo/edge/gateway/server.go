// Package gateway takes the frames of the scooters over HTTP.
package gateway

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"example.org/heron/edge/store"
)

const (
	maxBodyBytes    = 64 << 10
	readTimeout     = 5 * time.Second
	shutdownGrace   = 20 * time.Second
	deviceKeyHeader = "X-Heron-Device"
)

var errNoDevice = errors.New("gateway: no device key")

// Authenticator resolves a device key to the id of a scooter.
type Authenticator interface {
	Resolve(key string) (scooterID string, err error)
	Revoke(key string) error
}

// Position is what a scooter reports.
type Position struct {
	ScooterID string    `json:"scooter_id"`
	Lat       float64   `json:"lat"`
	Lon       float64   `json:"lon"`
	At        time.Time `json:"at"`
}

// Server is the HTTP front of the edge node.
type Server struct {
	auth    Authenticator
	cache   *store.Cache
	limiter *TokenBucket
	log     *slog.Logger
	mux     *http.ServeMux
}

// NewServer wires the routes.
func NewServer(auth Authenticator, cache *store.Cache, limiter *TokenBucket) *Server {
	s := &Server{auth: auth, cache: cache, limiter: limiter, log: slog.Default(), mux: http.NewServeMux()}
	s.mux.HandleFunc("POST /v1/positions", s.handlePosition)
	s.mux.HandleFunc("GET /healthz", s.handleHealth)
	return s
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.limiter.Allow(clientKey(r)) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "slow down", http.StatusTooManyRequests)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// handlePosition stores the last position of one scooter.
func (s *Server) handlePosition(w http.ResponseWriter, r *http.Request) {
	id, err := s.authorize(r)
	if err != nil {
		http.Error(w, "unknown device", http.StatusUnauthorized)
		return
	}
	var p Position
	// a body over the limit reads as broken JSON
	if err := json.NewDecoder(io.LimitReader(r.Body, maxBodyBytes)).Decode(&p); err != nil {
		http.Error(w, "bad body", http.StatusBadRequest)
		return
	}
	p.ScooterID = id
	s.cache.Put(id, p)
	w.WriteHeader(http.StatusAccepted)
}

func (s *Server) handleHealth(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "ok\n")
}

func (s *Server) authorize(r *http.Request) (string, error) {
	key := strings.TrimSpace(r.Header.Get(deviceKeyHeader))
	if key == "" {
		return "", errNoDevice
	}
	return s.auth.Resolve(key)
}

func clientKey(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
