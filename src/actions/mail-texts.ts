/** What the service writes to people. Nothing in a mail is the sender's own words: it would carry spam to strangers. */
import type { App } from '../store/apps.ts'
import type { Mail } from './mail.ts'

export function confirmMail(app: App, to: string, code: string): Mail {
  return {
    to,
    subject: `${code} is your code for your wallet`,
    text: [
      `Your code is ${code}.`,
      `Enter it in the wallet of ${app.name} to confirm this email address. It works once, for 15 minutes.`,
      'If you did not sign up, leave it be: without the code there is no account.',
    ].join('\n\n'),
  }
}

export function takenMail(app: App, to: string): Mail {
  return {
    to,
    subject: 'You already have a wallet',
    text: [
      `Somebody, probably you, tried to sign up in the wallet of ${app.name} with this email address.`,
      'You have an account already: sign in with it, or choose “Forgotten password”.',
      'If it was not you, there is nothing to do. Nothing was changed.',
    ].join('\n\n'),
  }
}

export function resetMail(app: App, to: string, code: string): Mail {
  return {
    to,
    subject: `${code} is your code for a new password`,
    text: [
      `Your code is ${code}.`,
      `Enter it in the wallet of ${app.name} to choose a new password. It works once, for 15 minutes.`,
      'If you did not ask for it, leave it be: your password stays as it is. Never tell anybody this code.',
    ].join('\n\n'),
  }
}

export function unconfirmedMail(app: App, to: string): Mail {
  return {
    to,
    subject: 'Your wallet waits for its code',
    text: [
      `Somebody, probably you, asked for a new password in the wallet of ${app.name}.`,
      'There is no account with this email address yet: a sign-up waits for the code we sent. Enter it, or sign up again to get a new one.',
      'If it was not you, leave it be: without the code there is no account.',
    ].join('\n\n'),
  }
}

export function passwordChangedMail(app: App, to: string): Mail {
  return {
    to,
    subject: 'Your wallet has a new password',
    text: [
      `The password of your wallet was changed, in the wallet of ${app.name}.`,
      'If that was not you, choose “Forgotten password” at once: whoever did it can read your mail.',
    ].join('\n\n'),
  }
}

export function noPasswordMail(app: App, to: string): Mail {
  return {
    to,
    subject: 'Choose a password for your wallet',
    text: [
      `Your email address is confirmed in the wallet of ${app.name}.`,
      'While it was waiting, somebody signed up with it more than once, with different passwords. We cannot know which is yours, so none of them works.',
      'To choose one, sign in and choose “Forgotten password”.',
    ].join('\n\n'),
  }
}
