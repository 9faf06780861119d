// The statuses of HTTP that the JSON API answers with, besides those of errors
// (connect_error.h).
//
// Thread-safety: constants.
#pragma once

namespace actord::daemon {

enum HttpStatus : unsigned {
  kHttpOk = 200,
  kHttpCreated = 201,
  kHttpAccepted = 202,
  kHttpBadRequest = 400,
  kHttpForbidden = 403,
  kHttpNotFound = 404,
  kHttpMethodNotAllowed = 405,
  kHttpConflict = 409,
  kHttpGone = 410,
  kHttpUnsupportedMediaType = 415,
  kHttpFailedDependency = 424,
  kHttpNotImplemented = 501,
  kHttpUnavailable = 503,
};

}  // namespace actord::daemon
