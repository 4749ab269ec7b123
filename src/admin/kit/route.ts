/** A page or action of the admin area, and who may reach it. */
import type { Device, SignedInOperator } from '../../actions/operators/manage-sessions.ts'
import type { Actor } from '../../actions/audit.ts'
import { hasRight, type Right } from '../../actions/operators/rights.ts'
import type { Service } from '../../actions/service.ts'
import type { Form } from './form.ts'

/** A request before anyone is signed in. */
export type PublicRequest = {
  readonly service: Service
  readonly raw: Request
  readonly path: string
  /** A parameter of the path, such as `:id`; empty when the path has no parameter of that name. */
  readonly param: (name: string) => string
  /** A parameter of the query, without what PostgreSQL cannot hold and cut at 400 characters; empty when absent. */
  readonly query: (name: string) => string
  readonly form: Form
  readonly device: Device
  /** What every form sends back as its field `_token`. */
  readonly formToken: string
  readonly me: SignedInOperator | undefined
}

export type AdminRequest = PublicRequest & { readonly me: SignedInOperator; readonly actor: Actor }

/** A right; or `code`, `enrol`: signed in by password, with the second factor still to show or to set up. */
export type Access = 'code' | 'enrol' | Right

export type AdminRoute = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Of a form that brings a file along. */
  readonly maxFormBytes?: number
} & (
  | { readonly access: 'public'; readonly handle: (request: PublicRequest) => Promise<Response> }
  | { readonly access: Access; readonly handle: (request: AdminRequest) => Promise<Response> }
)

export type Handle = (request: AdminRequest) => Promise<Response>

/** A page that every operator may see, unless `access` says otherwise. */
export function get(path: string, handle: Handle, access: Access = 'view'): AdminRoute {
  return { method: 'GET', path, access, handle }
}

/** A route that changes something. */
export function post(path: string, handle: Handle, access: Access): AdminRoute {
  return { method: 'POST', path, access, handle }
}

/** Whether whoever asks has the right: what they may not do is not offered to them. */
export function may({ me }: AdminRequest, right: Right): boolean {
  return hasRight(me.operator.role, right)
}
