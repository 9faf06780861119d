// The declarations of the package are true: its code has everything that they declare.

import * as declared from 'actord';
import * as made from './package/lib/index.js';

// Classes whose constructors are for the package alone.
type Made = Pick<typeof declared, 'Client' | 'Payload' | 'Worker' | 'Refuse' | 'Retry'
  | 'ActordError' | 'InvalidArgument' | 'InitRefused' | 'PayloadTooLarge'
  | 'RequestIdReused' | 'NotFound' | 'ProcessNotFound' | 'NameNotFound'
  | 'UnknownProcessType' | 'UnknownMethod' | 'Unauthenticated' | 'PermissionDenied'
  | 'AlreadyExists' | 'NameTaken' | 'FailedPrecondition' | 'ProcessEnded'
  | 'ProcessQuarantined' | 'ResultNotKept' | 'NotDurable' | 'CalleeEnded' | 'CallFailed'
  | 'Overloaded' | 'MailboxFull' | 'QuotaExceeded' | 'Unavailable' | 'DeadlineExceeded'
  | 'DaemonTooOld'
  | 'ProcessFailed' | 'ItemsRefused'>;
export const classes: Made = made;

type Instance<T> = T extends { prototype: infer I } ? I : never;
type Others = Exclude<keyof typeof declared, keyof Made>;
type Code = typeof made;
export const instances = (code: { [name in Others]: Instance<Code[name]> }):
  { [name in Others]: Instance<(typeof declared)[name]> } => code;

// And nothing is exported that is not declared.
type Undeclared = Exclude<keyof Code, keyof typeof declared>;
export const undeclared: [Undeclared] extends [never] ? true : Undeclared = true;
