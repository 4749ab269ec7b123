import type { Words } from '../words.ts'

export const words: Words['ended'] = {
  signedOutTitle: 'התנתקת',
  signedOutText: 'התנתקת מ־{app} בחלון אחר או במכשיר אחר. {app} נשארת מחוברת ועדיין יכולה לגבות תשלומים בעצמה.',
  everywhereTitle: 'התנתקת מכל מקום',
  everywhereText:
    '„התנתקות מכל מקום” סגרה את הארנק שלך בכל אפליקציה ובכל דפדפן. האפליקציות נשארות מחוברות ועדיין יכולות לגבות תשלומים בעצמן.',
  passwordChangedTitle: 'הסיסמה שלך שונתה',
  passwordChangedText: 'לכן התנתקת כאן. אם השינוי לא נעשה על ידך, יש לבחור עכשיו סיסמה חדשה.',
  disconnectedTitle: '{app} נותקה',
  disconnectedText: '{app} כבר לא יכולה לראות את הארנק שלך או להשתמש בו. כדי לחבר אותה שוב, יש להתחבר.',
  appOffTitle: '{app} מושהית',
  appOffText: '{service} כיבתה את האפליקציה הזו. היא לא יכולה לפתוח את הארנק שלך או לגבות תשלומים. הכסף שלך בטוח.',
  deletedTitle: 'החשבון שלך נמחק',
  deletedText: 'הארנק הזה כבר לא קיים, וכל האפליקציות נותקו.',
  noSessionTitle: 'הארנק שלך לא פתוח כאן',
  noSessionText: 'כדי לפתוח אותו, יש להתחבר. הכסף שלך בטוח.',
  closeWindow: 'אפשר לסגור את החלון הזה ולחזור אל {app}.',
}
